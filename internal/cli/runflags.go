package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// localRunFlags are of use on this machine alone. The data folder is not among
// them: it has the plans of servers, too.
var localRunFlags = []string{
	"allow-exec", "exec-dir", "skill-private", "skill-http", "skill-port", "skill-secret", "skills", "blobs", "run-slots", "run-tenant-slots", "run-max", "run-tenant-max",
	"run-lease", "run-retention", "cache-max-age", "cache-max-bytes", "database", "redis",
}

// AfterApply refuses what was typed for this machine when a server is to run the
// file. What variables say is for this machine by nature, and left aside.
func (c runCommand) AfterApply(line *kong.Context) error {
	if c.Server == "" {
		return nil
	}
	var typed []string
	for _, part := range line.Path {
		if part.Flag != nil && !part.Resolved && slices.Contains(localRunFlags, part.Flag.Name) {
			typed = append(typed, "--"+part.Flag.Name)
		}
	}
	if len(typed) == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be used with --server: whoever runs the server decides that there", strings.Join(slices.Compact(typed), " and "))
}
