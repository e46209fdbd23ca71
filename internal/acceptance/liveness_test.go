package acceptance

import (
	"context"
	"database/sql"
	"fmt"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql for PostgreSQL

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// later waits for a time before it ends.
const later = `{"name":"later","start_step":"pause","steps":{
	"pause":{"kind":"delay","params":{"seconds":600},"transitions":{"on_complete":"done"}},
	"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`

// TestWhatIsDeletedByHandComesBack deletes timers from the database and entries
// from the streams while cases go on starting, and expects every case to reach
// its end all the same, and the metrics to tell.
func TestWhatIsDeletedByHandComesBack(t *testing.T) {
	for _, p := range pairs() {
		if p.store == "memory" {
			continue // there is nothing to put a hand into
		}
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			newVandal(t, p).run()
		})
	}
}

// vandal changes what only the engine should change.
type vandal struct {
	t              *testing.T
	w              *world
	db             *sql.DB
	asking, asleep *tenant // whose cases wait for a module, and for a time
}

func newVandal(t *testing.T, p pair) *vandal {
	t.Helper()
	w := newWorld(t, p, 1)
	v := &vandal{t: t, w: w, db: openDatabase(t, w.ground), asking: newTenant(t, w), asleep: newTenant(t, w)}
	v.asking.publish(onlyAI)
	v.asleep.publish(later)
	return v
}

const vandalised = 25 // cases of each sort

func (v *vandal) run() {
	v.w.detach() // the module is away: its requests lie on the stream
	v.start(0, vandalised)
	v.w.wantEverythingSent(v.t)
	var load sync.WaitGroup
	load.Go(func() { v.start(vandalised, 2*vandalised) })
	for range 5 {
		v.deleteTimers()
		v.deleteEntries(event.TypeAIReviewRequested)
	}
	load.Wait()
	v.w.wantEverythingSent(v.t)
	v.deleteTimers()
	v.deleteEntries(event.TypeAIReviewRequested)

	v.w.await(v.t, "every case has a timer again", func() bool {
		unarmed, err := v.w.store.Unarmed(v.t.Context(), 1)
		return err == nil && len(unarmed) == 0
	}, v.describe)
	// Every case had lost its timer when the last hand was laid on them.
	v.wantMetric(`workflow_liveness_healed_total{cause="wake"}`, 4*vandalised)

	v.w.desk.answerBy(func(e *event.Envelope) any {
		if e.Type == event.TypeAIReviewRequested {
			return reviewed(0.9)
		}
		return nil
	})
	v.w.detach = v.w.desk.attach(v.t, v.w.modules)
	v.w.clock.Advance(61 * time.Second) // what was asked for a minute ago is asked for again
	v.ends(v.asking)
	v.wantMetric("workflow_request_resent_total", 2*vandalised)
	v.w.clock.Advance(10 * time.Minute)
	v.ends(v.asleep)
	checkEverything(v.t, v.w.store, v.w.ground.where(), "after timers and entries were deleted")
}

// start begins cases of both sorts.
func (v *vandal) start(from, to int) {
	for i := from; i < to; i++ {
		for _, n := range []*tenant{v.asking, v.asleep} {
			if outcome := n.send(n.created(fmt.Sprint("case-", i), nil)); outcome != rondo.OutcomeApplied {
				v.t.Errorf("on %s: case.created was %s", v.w.ground.where(), outcome)
			}
		}
	}
}

// ends waits until every case of an organisation is completed.
func (v *vandal) ends(n *tenant) {
	v.t.Helper()
	for i := range 2 * vandalised {
		if found := n.rests(fmt.Sprint("case-", i)); found.Status != rondo.StatusCompleted {
			v.t.Fatalf("on %s: case-%d is %s (%s)\n%s", v.w.ground.where(), i, found.Status, found.HaltReason, v.w.describe(n.org))
		}
	}
}

// deleteTimers takes rows in any order and the engine takes them in its own: when
// the database ends the deadlock of the two by refusing this statement, it is typed
// again, as a person would.
func (v *vandal) deleteTimers() {
	v.t.Helper()
	var err error
	for range 20 {
		if _, err = v.db.ExecContext(v.t.Context(), "UPDATE instances SET wake_at = NULL WHERE status IN ('running', 'halted')"); err == nil {
			return
		}
		if !strings.Contains(strings.ToLower(err.Error()), "deadlock") {
			break
		}
	}
	v.t.Fatalf("on %s: delete the timers: %v", v.w.ground.where(), err)
}

// deleteEntries removes everything from a stream but the groups that read it.
func (v *vandal) deleteEntries(stream string) {
	v.t.Helper()
	if v.w.ground.redis {
		s := newStreams(v.t, v.w.ground.redisURL)
		defer s.client.Close()
		if err := s.client.XTrimMaxLen(v.t.Context(), "events:"+stream, 0).Err(); err != nil {
			v.t.Fatalf("on %s: delete the entries: %v", v.w.ground.where(), err)
		}
		return
	}
	if _, err := v.db.ExecContext(v.t.Context(), "DELETE FROM log_entries WHERE stream = '"+stream+"'"); err != nil {
		v.t.Fatalf("on %s: delete the entries: %v", v.w.ground.where(), err)
	}
}

// wantMetric waits until a counter has come to a number: it is counted just after
// the commit.
func (v *vandal) wantMetric(name string, atLeast float64) {
	v.t.Helper()
	v.w.await(v.t, fmt.Sprintf("%s is at least %v", name, atLeast), func() bool { return v.metric(name) >= atLeast },
		func() string { return fmt.Sprintf("it is %v", v.metric(name)) })
}

// metric reads one number as Prometheus would.
func (v *vandal) metric(name string) float64 {
	v.t.Helper()
	page := httptest.NewRecorder()
	v.w.metrics.Handler().ServeHTTP(page, httptest.NewRequestWithContext(context.Background(), "GET", "/metrics", nil))
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(page.Body.String())
	if found == nil {
		return 0
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		v.t.Fatal(err)
	}
	return value
}

func (v *vandal) describe() string {
	return v.w.describe(v.asking.org) + "\n" + v.w.describe(v.asleep.org)
}

// openDatabase connects beside Rondo.
func openDatabase(t *testing.T, g *ground) *sql.DB {
	t.Helper()
	var db *sql.DB
	var err error
	switch g.store {
	case "sqlite":
		db, err = sql.Open("sqlite", "file:"+strings.TrimPrefix(g.database, "sqlite:")+"?_pragma=busy_timeout(10000)")
	case "postgres":
		db, err = sql.Open("pgx", g.database)
	case "mariadb":
		var u *url.URL
		if u, err = url.Parse(g.database); err != nil {
			break
		}
		config := mysql.NewConfig()
		config.Net, config.Addr, config.DBName, config.User = "tcp", u.Host, strings.TrimPrefix(u.Path, "/"), u.User.Username()
		config.Passwd, _ = u.User.Password()
		db, err = sql.Open("mysql", config.FormatDSN())
	}
	if err != nil {
		t.Fatalf("open %s beside Rondo: %v", g.database, err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
