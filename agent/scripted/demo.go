package scripted

import _ "embed"

//go:embed demo.yaml
var demo []byte

// Demo is the script that walks the shipped definitions `default` and `payment` and
// the example `intake-talk`.
func Demo() (*Script, error) { return Parse("demo.yaml", demo) }
