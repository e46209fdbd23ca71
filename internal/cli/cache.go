package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rondo-engine/rondo"
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
	Workflow  string `help:"Of this workflow." placeholder:"NAME"`
	Step      string `help:"Of this step." placeholder:"STEP"`
	Key       string `help:"The one with this key." placeholder:"KEY"`
	OlderThan string `help:"Not used for so long, such as 90m, 48h or 3d." placeholder:"AGE"`
}

func (f cacheFilter) pairs() []string {
	return []string{"workflow", f.Workflow, "step", f.Step, "key", f.Key, "olderThan", f.OlderThan}
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
	filtered := c.Workflow != "" || c.Step != "" || c.Key != "" || c.OlderThan != ""
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
	Key        string `arg:"" help:"Key of the result: rondo cache list, or rondo runs explain -o json."`
	Reason     string `required:"" help:"What is wrong with it; kept with it." placeholder:"TEXT"`
	Rebuild    bool   `help:"Start an update run for every run that used it."`
	OutputHash string `help:"The result that is meant, as this command showed it: an entry that was computed anew since is left as it is." placeholder:"HASH"`
}

// Run marks an entry and says what it touched.
func (c cacheTaint) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	found, err := server.TaintCache(ctx, c.Key, client.TaintRequest{Reason: c.Reason, Rebuild: c.Rebuild, OutputHash: c.OutputHash})
	if err != nil {
		return err
	}
	if c.json() {
		err = printJSON(s.out, found)
	} else {
		err = c.print(s, found)
	}
	if err == nil && found.Error != "" {
		return &rondo.Error{Code: rondo.CodeUnavailable, Message: plain(found.Error), Hint: "what was started is named above; the same command starts what is missing"}
	}
	return err
}

// print says what a result touched and what is done about it.
func (c cacheTaint) print(s streams, found client.Tainted) error {
	state := "is tainted"
	if found.Recomputed {
		state = "was computed anew since, and is left as it is"
	}
	_, _ = fmt.Fprintf(s.out, "%s of %s %s: %s and %s used it\n", found.StepID, found.Workflow, state, count(len(found.Runs), "run"), count(len(found.Artifacts), "artifact"))
	if len(found.Runs) == 0 {
		return nil
	}
	rows := [][]string{{"RUN", "STATUS", "STEPS", "REBUILT BY"}}
	open := 0
	for _, run := range found.Runs {
		by := run.RebuiltBy
		switch {
		case by == "" && run.NotRebuilt == "":
			open++
		case by == "":
			by = "nobody: " + run.NotRebuilt
		}
		rows = append(rows, []string{run.RunID, run.Status, fmt.Sprint(len(run.StepIDs)), orDash(by)})
	}
	if err := table(s.out, rows); err != nil || open == 0 {
		return err
	}
	_, err := fmt.Fprintf(s.out, "\nTo rebuild %s: rondo cache taint %s --reason … --output-hash %s --rebuild\n", count(open, "run"), found.Key, found.OutputHash)
	return err
}
