package plan

import "encoding/json"

// documentJSON is the body of a definition.
type documentJSON struct {
	Name        string                                `json:"name"`
	Version     string                                `json:"version"`
	Description string                                `json:"description"`
	InputSchema json.RawMessage                       `json:"input_schema"`
	Steps       []stepJSON                            `json:"steps"`
	Changes     map[string]json.RawMessage            `json:"changes"`
	Skills      map[string]SkillSpec                  `json:"skills"`
	Prompts     map[string]map[string]json.RawMessage `json:"prompts"`
	Configs     map[string]map[string]json.RawMessage `json:"configs"`
}

type stepJSON struct {
	ID           string          `json:"id"`
	Description  string          `json:"description"`
	Skill        string          `json:"skill"`
	DependsOn    []string        `json:"depends_on"`
	Input        json.RawMessage `json:"input"`
	Class        string          `json:"class"`
	Cache        json.RawMessage `json:"cache"`
	Retry        retryJSON       `json:"retry"`
	Timeout      *string         `json:"timeout"`
	OutputSchema json.RawMessage `json:"output_schema"`
	Raise        *raiseJSON      `json:"raise"`
}

type cacheJSON struct {
	Enabled *bool    `json:"enabled"`
	Scope   string   `json:"scope"`
	TTL     *string  `json:"ttl"`
	Ignore  []string `json:"ignore"`
	Salt    string   `json:"salt"`
}

type retryJSON struct {
	MaxAttempts *int    `json:"max_attempts"`
	Backoff     *string `json:"backoff"`
}

type raiseJSON struct {
	EventType string          `json:"event_type"`
	CaseID    json.RawMessage `json:"case_id"`
	Payload   json.RawMessage `json:"payload"`
}
