package definition

import (
	"encoding/json"
	"strings"

	"github.com/rondo-engine/rondo/internal/turn"
)

// checkConversation judges a conversation as the turns that it will drive read it.
// What a schema may refer to is judged here, as for every schema of a tenant.
func checkConversation(body json.RawMessage, p *problems) {
	var written struct {
		OutputSchema json.RawMessage `json:"outputSchema"`
	}
	if err := json.Unmarshal(body, &written); err != nil {
		p.add("invalid_json", "", "%s", err)
		return
	}
	readSchema(written.OutputSchema, "/outputSchema", p)
	compiled, wrong := turn.Compile(body)
	for _, problem := range wrong {
		if !strings.HasPrefix(problem.Pointer, "/outputSchema") { // said above, in the words of all schemas
			p.errors = append(p.errors, problem)
		}
	}
	if compiled != nil && len(p.errors) == 0 {
		p.warnings = append(p.warnings, compiled.Check()...)
	}
}
