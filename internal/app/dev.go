package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/internal/demo"
	"github.com/rondo-engine/rondo/modules"
	"github.com/rondo-engine/rondo/store"
)

// DevOptions is what the development environment needs to know.
type DevOptions struct {
	Options
	Every   time.Duration // how often a demo case starts; 0 = never
	Out     io.Writer
	Colours bool
}

// Dev runs everything on one machine: the orchestrator, simulated modules, the
// demo organisation and its cases, and tells on the terminal what happens.
func Dev(ctx context.Context, opts DevOptions) error {
	screen := demo.NewScreen(opts.Out, opts.Colours, time.Now)
	opts.observer = screen
	opts.extra = func(e *engine.Engine) map[string]http.Handler {
		org := func(*http.Request) string { return demo.Org }
		return map[string]http.Handler{"/modules/": http.StripPrefix("/modules", modules.REST(e.Bus(), demo.Modules(), org, time.Now))}
	}
	opts.Chat.Provider = cmp.Or(opts.Chat.Provider, ProviderScripted)
	opts.Runs.Allow.own = simulatedSkills()
	s, err := start(ctx, opts.Options)
	if err != nil {
		return err
	}
	finish := func(err error) error {
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Drain)
		defer cancel()
		err = errors.Join(err, s.runs.stop(drain), s.chat.stop(drain))
		s.engine.Stop(drain)
		return errors.Join(err, s.close())
	}
	if err := demo.Setup(ctx, s.engine); err != nil {
		return finish(err)
	}
	if err := registerExamples(ctx, s.engine, opts.Runs.Allow.AllowExec); err != nil {
		return finish(err)
	}
	left, err := leftovers(ctx, s.engine)
	if err != nil {
		return finish(err)
	}
	screen.Continue(left.running, left.halted)
	greet(opts, s, left)
	suite := modules.New(s.engine.Bus(), demo.Modules())
	if err := suite.Start(ctx); err != nil {
		return finish(err)
	}
	var trickle sync.WaitGroup
	if opts.Every > 0 {
		trickle.Go(func() {
			demo.Trickle(ctx, s.engine, opts.Every, func(err error) { s.opts.Log.Warn("starting a demo case", "error", err) })
		})
	}
	return s.run(ctx, func() {
		_, _ = fmt.Fprintln(opts.Out, "\n  Stopping. Cases that are under way continue at the next start.")
		trickle.Wait()
		// Simulated reviews take seconds; what is not answered now is asked again at the next start.
		brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = suite.Stop(brief)
		screen.Total()
	})
}

// remains is what an earlier run left behind.
type remains struct{ running, halted int }

func leftovers(ctx context.Context, e *engine.Engine) (remains, error) {
	count := func(status rondo.Status) (int, error) {
		n := 0
		page := store.Page{Limit: 200}
		for {
			found, err := e.Instances(ctx, demo.Principal(), store.InstanceFilter{OrgID: demo.Org, Status: status}, page)
			n += len(found)
			if err != nil || len(found) < page.Limit {
				return n, err
			}
			page.After = found[len(found)-1].ID
		}
	}
	running, err := count(rondo.StatusRunning)
	if err != nil {
		return remains{}, err
	}
	halted, err := count(rondo.StatusHalted)
	return remains{running: running, halted: halted}, err
}

func greet(opts DevOptions, s *server, left remains) {
	base := "http://" + s.listen.Addr().String()
	bus := "embedded, in the same database"
	if opts.Redis != "" {
		bus = "Redis Streams"
	}
	at := "" // how commands reach a server that is not where they look by themselves
	if base != "http://127.0.0.1:3006" {
		at = " --server " + base
	}
	bold, plain := "", ""
	if opts.Colours {
		bold, plain = "\x1b[1m", "\x1b[0m"
	}
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(opts.Out, format+"\n", args...) }
	p("")
	p("  %sRondo is ready on %s%s   (organisation %s, no token needed)", bold, base, plain, demo.Org)
	p("")
	p("  API and docs   %s/docs", base)
	p("  Cases          curl -s '%s/workflow-instances?limit=5'", base)
	p("  Stuck ones     curl -s '%s/workflow-instances?status=halted'", base)
	p("  Talk           rondo chat%s   or   curl -s -X POST '%s/api/chat/start'   (%s agent)", at, base, opts.Chat.Provider)
	p("  Run            rondo runs list%s   or   rondo workflows list%s", at, at)
	p("  Database       %s", masked(opts.Database))
	p("  Event bus      %s", bus)
	if left.running+left.halted > 0 {
		p("  Continuing     %d running and %d halted cases from last time", left.running, left.halted)
	}
	p("")
	p("  Ctrl-C stops. Start again and everything continues.")
	p("")
}
