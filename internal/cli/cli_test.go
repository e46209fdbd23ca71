package cli_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/auth/authtest"
	"github.com/rondo-engine/rondo/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"rondo": func() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the specification of the command line: one script per file in
// testdata/script. Scripts find in their environment ADDR, a free address;
// EXAMPLES, the folder of examples; and ISSUER, AUDIENCE and tokens of that issuer.
func TestScripts(t *testing.T) {
	t.Parallel()
	issuer := authtest.NewIssuer(t)
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	issuer.Advance(time.Since(issuer.Now()))
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Setenv("ADDR", listener.Addr().String())
			env.Setenv("ISSUER", issuer.URL)
			env.Setenv("EXAMPLES", examples)
			env.Setenv("AUDIENCE", authtest.Audience)
			env.Setenv("READER", issuer.Token("acme", "ann", []string{rondo.ScopeRead}))
			env.Setenv("STRANGER", issuer.Token("globex", "bob", []string{rondo.ScopeRead}))
			return listener.Close()
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"answers": answers,
			"shows":   shows,
			"lastid":  lastID,

			"lastchat": lastChat,
			"lastrun":  lastMember("runId"),
			"lastkey":  lastMember("key"),
			"appears":  appears,
		},
	})
}
