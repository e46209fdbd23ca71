package mysql

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
)

func openMigrated(t *testing.T, opts Options) *Store {
	t.Helper()
	s, err := Open(testenv.MySQL(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// A row that the server would cut the connection for is refused, rows that only
// together are too long are stored, and the store goes on.
func TestARowAboveTheServersLimitIsTooLarge(t *testing.T) {
	s := openMigrated(t, Options{})
	var limit int
	if err := s.db.QueryRowContext(t.Context(), "SELECT @@max_allowed_packet").Scan(&limit); err != nil {
		t.Fatal(err)
	}
	if limit > 64<<20 {
		t.Skipf("max_allowed_packet is %d: exceeding it takes too much memory for a test", limit)
	}
	ids := rondo.NewIDs(time.Now)
	write := func(sizes ...int) error {
		var w store.Write
		for _, size := range sizes {
			w.Events = append(w.Events, rondo.EventRecord{
				ID: ids.New(), OrgID: "acme", EventID: ids.New(), CaseID: "c-1", Type: "case.created",
				Envelope: bytes.Repeat([]byte("x"), size), ReceivedAt: time.Now(), Processed: true, Outcome: rondo.OutcomeNoted,
			})
		}
		_, err := s.Update(t.Context(), store.Load{Cases: []rondo.CaseKey{{OrgID: "acme", CaseID: "c-1"}}},
			func(*store.Loaded) (*store.Write, error) { return &w, nil })
		return err
	}
	if err := write(limit); rondo.CodeOf(err) != rondo.CodeTooLarge {
		t.Fatalf("a row of %d bytes: %v, want code too_large", limit, err)
	}
	if err := write(100, limit, 100); rondo.CodeOf(err) != rondo.CodeTooLarge {
		t.Fatalf("a batch with a row of %d bytes: %v, want code too_large", limit, err)
	}
	if err := write(limit/3, limit/3, limit/3, limit/3); err != nil {
		t.Fatalf("rows that only together exceed the limit: %v", err)
	}
	var stored int
	if err := s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM events").Scan(&stored); err != nil || stored != 4 {
		t.Fatalf("%d events are stored (%v), want the 4 of the batch that fits", stored, err)
	}
}

// With a small limit every part of a commit takes several packets: guards and
// numbers must not get lost between them.
func TestACommitOfManyPackets(t *testing.T) {
	for _, embedded := range []bool{false, true} {
		t.Run(fmt.Sprintf("embedded %v", embedded), func(t *testing.T) {
			s := openMigrated(t, Options{Embedded: embedded})
			s.server.Store(&server{stride: 1, packet: 8 << 10})
			const cases = 60
			ids := rondo.NewIDs(time.Now)
			var load store.Load
			instances := make([]*rondo.Instance, cases)
			for i := range instances {
				instances[i] = &rondo.Instance{
					ID: ids.New(), OrgID: "acme", CaseID: fmt.Sprintf("c-%03d", i), DefinitionID: ids.New(), Status: rondo.StatusRunning,
					// Quotes double when they are escaped.
					Context: rondo.Context{"word": json.RawMessage(`"` + string(bytes.Repeat([]byte("'"), 500)) + `"`)},
				}
				load.Cases = append(load.Cases, instances[i].Key())
			}
			commit := func(stale int) ([]int64, error) {
				var w store.Write
				for i, instance := range instances {
					next, previous := *instance, instance.Version
					if i == stale {
						previous++
					}
					next.Version++
					instances[i] = &next
					w.Instances = append(w.Instances, store.InstanceWrite{Instance: &next, Previous: previous})
					w.Outbox = append(w.Outbox, rondo.Outgoing{
						Stream: "a", OrgID: "acme", EventID: ids.New(), Envelope: bytes.Repeat([]byte("x"), 500), CreatedAt: time.Now(),
					})
				}
				committed, err := s.Update(t.Context(), load, func(*store.Loaded) (*store.Write, error) { return &w, nil })
				return committed.Seqs, err
			}
			for round := range 2 {
				seqs, err := commit(-1)
				if err != nil {
					t.Fatalf("commit %d: %v", round+1, err)
				}
				for i, seq := range seqs {
					if want := int64(round*cases + i + 1); seq != want {
						t.Fatalf("event %d of commit %d has number %d, want %d", i+1, round+1, seq, want)
					}
				}
			}
			before := make([]*rondo.Instance, cases)
			copy(before, instances)
			for _, stale := range []int{0, cases / 2, cases - 1} {
				copy(instances, before)
				if _, err := commit(stale); rondo.CodeOf(err) != rondo.CodeConflict {
					t.Errorf("a stale version in place %d: %v, want code conflict", stale, err)
				}
			}
		})
	}
}

func TestAPacketWithTooFewAnswersFails(t *testing.T) {
	s := openMigrated(t, Options{})
	conn, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ignore := func([]any) error { return nil }
	var r reading
	r.text = append(r.text, "SELECT 1"...)
	r.add(ignore)
	r.rows = append(r.rows, ignore)
	if err := r.run(t.Context(), conn); err == nil {
		t.Fatal("two queries were expected and one answered: want an error")
	}
}
