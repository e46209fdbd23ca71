//go:build !unix

package bustest

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
