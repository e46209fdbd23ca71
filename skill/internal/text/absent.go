package text

import (
	"fmt"
	"regexp"
	"strings"
)

// absentIn finds what text/template says of a member that is not there: the place,
// what is written there, and the member.
var absentIn = regexp.MustCompile(`^(.*?): executing ".*?" at <(.*)>: (?:map has no entry for key "(.*)"|nil pointer evaluating interface \{\}\.(.*))$`)

// absent says of a message about a member that is not there what is missing, and what
// to do; ok is false when it is about something else.
func (t *Template) absent(message string, input any) (said string, ok bool) {
	found := absentIn.FindStringSubmatch(message)
	if found == nil {
		return "", false
	}
	place, written, member := found[1], found[2], found[3]+found[4]
	members, _ := input.(map[string]any)
	_, there := members[member]
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(written, "$"), "."), ".")
	if first == member && !there && (strings.HasPrefix(written, "$.") || !t.moves()) {
		return fmt.Sprintf(`%s: the input has no %q: its selector found nothing, or the step's input does not name it; write {{ default "" .%s }} if it may be absent`, place, member, member), true
	}
	return fmt.Sprintf("%s: there is no %q where %s looks for it; ask with if, or default, if it may be absent", place, member, written), true
}

// moves reports whether a dot may be something else than the input.
func (t *Template) moves() bool {
	source := t.parsed.Root.String()
	for _, word := range []string{"{{range ", "{{with ", "{{template ", "{{block "} {
		if strings.Contains(source, word) {
			return true
		}
	}
	return false
}
