package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCommand struct{}

// Run prints the module version when the binary was built from one, else the
// commit it was built from.
func (versionCommand) Run(_ context.Context, s streams) error {
	_, err := fmt.Fprintf(s.out, "rondo %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return "dev-" + setting.Value[:12]
		}
	}
	return "dev"
}
