package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// readInputs makes an object of what --input was given, later ones winning:
//
//	name=value     a member: JSON when it is JSON, else text; text also when the schema says so
//	name=@FILE     a member: a document of a .json, .jsonc, .yaml or .yml file, else the file's text
//	@FILE          every member of a document
//
// Nothing given is nil.
func readInputs(flag string, given []string, schema inputSchema) (json.RawMessage, error) {
	if len(given) == 0 {
		return nil, nil
	}
	members := map[string]json.RawMessage{}
	for _, one := range given {
		if file, whole := strings.CutPrefix(one, "@"); whole {
			document, err := readDocument(file)
			if err != nil {
				return nil, err
			}
			var more map[string]json.RawMessage
			if json.Unmarshal(document, &more) != nil || more == nil {
				return nil, badInput(fmt.Sprintf("%s %s: the file is not an object", flag, one), "write it as {\"name\": value, …}")
			}
			maps.Copy(members, more)
			continue
		}
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, badInput(fmt.Sprintf("%s %s: there is no name=value", flag, one), "write name=value, name=@FILE, or @FILE for a whole object")
		}
		var err error
		if members[name], err = inputValue(value, schema.text(name)); err != nil {
			return nil, rondo.Op(flag+" "+name, err)
		}
	}
	return json.Marshal(members)
}

// inputValue is one value as a person types it; text says that it is to be text.
func inputValue(value string, text bool) (json.RawMessage, error) {
	file, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		if json.Valid([]byte(value)) && (!text || strings.HasPrefix(value, `"`)) {
			return json.RawMessage(value), nil
		}
		return json.Marshal(value)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if _, document := cutExtension(file); document {
		plain, err := definition.PlainJSON(source)
		return plain, rondo.Op(file, err)
	}
	return json.Marshal(string(source))
}

func badInput(message, hint string) error {
	return &rondo.Error{Code: rondo.CodeInvalid, Message: message, Hint: hint}
}
