package definition

import (
	"embed"
	"sync"
)

//go:embed templates/*.json
var templateFiles embed.FS

// Templates lists the shipped definitions by name. Each can be published
// against SystemReasonCodes and the built-in kinds alone.
func Templates() []Draft { return append([]Draft(nil), shippedTemplates()...) }

// shippedTemplates reads the templates on first use; they never change. A test
// holds that every file is there and valid.
var shippedTemplates = sync.OnceValue(func() []Draft {
	var drafts []Draft
	files := embedded(templateFiles, "templates")
	for _, name := range sortedKeys(files) {
		if draft, err := ParseDraft(files[name]); err == nil {
			drafts = append(drafts, draft)
		}
	}
	return drafts
})
