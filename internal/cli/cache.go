package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rondo-engine/rondo/client"
)

// cacheCommand is about the results of steps that a server keeps for reuse.
type cacheCommand struct {
	List  cacheList  `cmd:"" help:"List results that can be used again, newest first."`
	Stats cacheStats `cmd:"" help:"Count them."`
	Evict cacheEvict `cmd:"" help:"Forget results, so that they are computed again."`
	Taint cacheTaint `cmd:"" help:"Mark a result as bad, list what used it, and rebuild that."`
}

// cacheFilter names entries.
type cacheFilter struct {
	Workflow  string        `help:"Of this workflow." placeholder:"NAME"`
	Step      string        `help:"Of this step." placeholder:"STEP"`
	Key       string        `help:"The one with this key." placeholder:"KEY"`
	OlderThan time.Duration `help:"Not used for so long." placeholder:"DURATION"`
}

func (f cacheFilter) pairs() []string {
	older := ""
	if f.OlderThan > 0 {
		older = f.OlderThan.String()
	}
	return []string{"workflow", f.Workflow, "step", f.Step, "key", f.Key, "olderThan", older}
}

type cacheList struct {
	remote
	cacheFilter
	paged
}

// Run lists entries.
func (c cacheList) Run(ctx context.Context, s streams) error {
	return c.fetch(ctx, s, client.Call{Path: client.CachePath, Query: c.query(c.pairs()...)}, func(answer json.RawMessage) error {
		return chatItems(s, answer, []string{"KEY", "WORKFLOW", "STEP", "CREATED", "USED", "TOOK", "COST", "TAINTED"}, func(e client.CacheEntry) []string {
			return []string{
				e.Key, e.Workflow, e.StepID, moment(e.CreatedAt), moment(e.LastUsedAt), elapsed(time.Duration(e.DurationMs) * time.Millisecond),
				fmt.Sprintf("%.4g", e.Cost), orDash(plain(e.Tainted)),
			}
		})
	})
}

type cacheStats struct {
	remote
	cacheFilter
}

// Run counts entries.
func (c cacheStats) Run(ctx context.Context, s streams) error {
	return c.fetch(ctx, s, client.Call{Path: client.CachePath + "/stats", Query: query(c.pairs()...)}, func(answer json.RawMessage) error {
		var found client.CacheStats
		if err := json.Unmarshal(answer, &found); err != nil {
			return err
		}
		return details(s.out, "Entries", fmt.Sprint(found.Entries), "Bytes", fmt.Sprint(found.Bytes))
	})
}

type cacheEvict struct {
	remote
	cacheFilter
	All bool `help:"Forget everything."`
}

// Validate refuses to forget everything by mistake.
func (c cacheEvict) Validate() error {
	filtered := c.Workflow != "" || c.Step != "" || c.Key != "" || c.OlderThan > 0
	return firstWrong(
		rule{filtered || c.All, "say what to forget: --workflow, --step, --key, --older-than, or --all"},
		rule{!filtered || !c.All, "--all forgets everything; leave out the others"},
	)
}

// Run forgets entries.
func (c cacheEvict) Run(ctx context.Context, s streams) error {
	which := query(c.pairs()...)
	if c.All {
		which = url.Values{"all": {"true"}}
	}
	return c.fetch(ctx, s, client.Call{Method: http.MethodDelete, Path: client.CachePath, Query: which}, func(answer json.RawMessage) error {
		var done struct{ Removed int }
		if err := json.Unmarshal(answer, &done); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "forgot %s\n", count(done.Removed, "result"))
		return err
	})
}

type cacheTaint struct {
	remote
	Key     string `arg:"" help:"Key of the result: rondo cache list, or rondo runs explain -o json."`
	Reason  string `required:"" help:"What is wrong with it; kept with it." placeholder:"TEXT"`
	Rebuild bool   `help:"Start an update run for every run that used it."`
}

// Run marks an entry and says what it touched.
func (c cacheTaint) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	found, err := server.TaintCache(ctx, c.Key, c.Reason, c.Rebuild)
	if err != nil {
		return err
	}
	if c.json() {
		return printJSON(s.out, found)
	}
	_, _ = fmt.Fprintf(s.out, "%s of %s is tainted: %s and %s used it\n", found.StepID, found.Workflow, count(len(found.Runs), "run"), count(len(found.Artifacts), "artifact"))
	if len(found.Runs) == 0 {
		return nil
	}
	rows := [][]string{{"RUN", "STATUS", "STEPS", "REBUILT BY"}}
	for _, run := range found.Runs {
		rows = append(rows, []string{run.RunID, run.Status, fmt.Sprint(len(run.StepIDs)), orDash(run.RebuiltBy)})
	}
	return table(s.out, rows)
}
