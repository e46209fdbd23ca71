package definition

import (
	"embed"
	"encoding/json"
	"maps"
	"path"
	"strings"
	"sync"

	"github.com/rondo-engine/rondo"
)

//go:embed kinds/*.json
var kindFiles embed.FS

// BuiltinKinds lists the built-in catalogue by name, with contracts as written.
func BuiltinKinds() []rondo.StepKind {
	var kinds []rondo.StepKind
	contracts := builtinContracts()
	for _, name := range sortedKeys(contracts) {
		kinds = append(kinds, rondo.StepKind{Name: name, Version: 1, Contract: contracts[name].JSON(), Status: "active"})
	}
	return kinds
}

// builtinContracts compiles the catalogue on first use; it never changes. A
// test holds that every file of the catalogue compiles.
var builtinContracts = sync.OnceValue(func() map[string]*Contract {
	contracts := map[string]*Contract{}
	for name, raw := range embedded(kindFiles, "kinds") {
		if c, err := parseContract(raw, false); err == nil {
			contracts[name] = c
		}
	}
	return contracts
})

// behaviourParams is the schema of the params that a behaviour itself reads; nil
// when it reads none, or nothing that it cannot do without. It is that of the
// built-in kind which is nothing but the behaviour.
func behaviourParams(b Behaviour) *Schema {
	switch b {
	case BehaviourDelay, BehaviourWait, BehaviourManual, BehaviourParallel, BehaviourHalt:
		return plainKindParams()[b]
	}
	return nil
}

// plainKindParams compiles, by behaviour, the params of the built-in kinds that
// have its name. They are read apart from the catalogue because reading a
// contract asks for them.
var plainKindParams = sync.OnceValue(func() map[Behaviour]*Schema {
	schemas := map[Behaviour]*Schema{}
	for name, raw := range embedded(kindFiles, "kinds") {
		var written struct {
			Behaviour    Behaviour       `json:"behaviour"`
			ParamsSchema json.RawMessage `json:"params_schema"`
		}
		if json.Unmarshal(raw, &written) != nil || string(written.Behaviour) != name {
			continue
		}
		if schema, err := CompileSchema(written.ParamsSchema); err == nil {
			schemas[written.Behaviour] = schema
		}
	}
	return schemas
})

// kindsOf resolves kind names for an environment: the built-in catalogue, then
// the newest active version of each of the organisation's own kinds, which
// cannot take a built-in name. Contracts that do not parse are left out.
func kindsOf(env Environment) map[string]*Contract {
	kinds := map[string]*Contract{}
	newest := map[string]rondo.StepKind{}
	for _, k := range env.Kinds {
		if k.Status == "active" && k.Version >= newest[k.Name].Version {
			newest[k.Name] = k
		}
	}
	for name, k := range newest {
		if c, err := ParseContract(k.Contract); err == nil {
			kinds[name] = c
		}
	}
	maps.Copy(kinds, builtinContracts())
	return kinds
}

// embedded reads the files of one embedded folder, by name without extension.
func embedded(files embed.FS, folder string) map[string][]byte {
	contents := map[string][]byte{}
	entries, err := files.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if raw, err := files.ReadFile(path.Join(folder, entry.Name())); err == nil {
			contents[strings.TrimSuffix(entry.Name(), ".json")] = raw
		}
	}
	return contents
}
