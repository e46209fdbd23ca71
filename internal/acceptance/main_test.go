package acceptance

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// TestMain lets more pairs run side by side than there are processors: they wait
// for servers and for each other most of the time. Whoever says -parallel is
// obeyed.
func TestMain(m *testing.M) {
	flag.Parse()
	const name = "test.parallel"
	if f := flag.Lookup(name); f.Value.String() == f.DefValue {
		if err := flag.Set(name, strconv.Itoa(max(6, runtime.GOMAXPROCS(0)))); err != nil {
			fmt.Fprintln(os.Stderr, "set", name+":", err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
