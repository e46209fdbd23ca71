package redis

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo/internal/testenv"
)

// groupAt is a group that has read up to an id and acked what it names.
type groupAt struct {
	name  string
	read  int // entries
	acked []int
}

func TestTrimKeepsWhateverAGroupStillNeeds(t *testing.T) {
	huge := "18446744073709551615"
	ids := []string{"9-1", "9-2", "10-0", "10-1", "11-7", "11-" + huge, "100-0"}
	for _, c := range []struct {
		name   string
		groups []groupAt
		before int64 // ms
		kept   []string
	}{
		{"no group: by age alone", nil, 11, ids[4:]},
		{"no group, everything is old", nil, 1000, nil},
		{"nothing is old", nil, 9, ids},
		{"a group that has read nothing", []groupAt{{name: "g"}}, 1000, ids},
		{"acked up to the third", []groupAt{{"g", 3, []int{0, 1, 2}}}, 1000, ids[3:]},
		{"read but not acked", []groupAt{{"g", 3, nil}}, 1000, ids},
		{"a hole in the acks", []groupAt{{"g", 5, []int{0, 2, 3, 4}}}, 1000, ids[1:]},
		{"the slowest group decides", []groupAt{{"fast", 7, []int{0, 1, 2, 3, 4, 5, 6}}, {"slow", 2, []int{0, 1}}}, 1000, ids[2:]},
		{"age decides before the groups do", []groupAt{{"g", 7, []int{0, 1, 2, 3, 4, 5, 6}}}, 10, ids[2:]},
		{"everything is acked", []groupAt{{"g", 7, []int{0, 1, 2, 3, 4, 5, 6}}}, 1000, nil},
		{"the last entry read has the highest number", []groupAt{{"g", 6, []int{0, 1, 2, 3, 4, 5}}}, 1000, ids[5:]},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := openForTest(t, testenv.Redis(t), Options{})
			key := b.keys.stream("a")
			pipe := b.client.Pipeline()
			for _, id := range ids {
				pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: key, ID: id, Values: []string{fieldEnvelope, "{}"}})
			}
			for _, g := range c.groups {
				pipe.XGroupCreate(t.Context(), key, g.name, "0")
				if g.read > 0 {
					pipe.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: g.name, Consumer: "c", Streams: []string{key, ">"}, Count: int64(g.read), Block: -1})
				}
				for _, n := range g.acked {
					pipe.XAck(t.Context(), key, g.name, ids[n])
				}
			}
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			removed, err := b.Trim(t.Context(), time.UnixMilli(c.before))
			if err != nil {
				t.Fatal(err)
			}
			left, err := b.client.XRange(t.Context(), key, "-", "+").Result()
			if err != nil {
				t.Fatal(err)
			}
			var kept []string
			for _, entry := range left {
				kept = append(kept, entry.ID)
			}
			if diff := cmp.Diff(c.kept, kept); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			if int(removed) != len(ids)-len(kept) {
				t.Errorf("trim says it removed %d, but %d are gone", removed, len(ids)-len(kept))
			}
		})
	}
}

func TestTrimTouchesOnlyItsOwnStreams(t *testing.T) {
	url := testenv.Redis(t)
	mine, other := openForTest(t, url, Options{Prefix: "mine[1]:"}), openForTest(t, url, Options{Prefix: "mine1:"})
	publish(t, mine, "a", "1")
	publish(t, other, "a", "1")
	if err := mine.client.Set(t.Context(), mine.keys.stream("text"), "not a stream", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := mine.Trim(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("trimmed %d, %v; want 1", n, err)
	}
}

func TestTrimRemovesMoreThanAPage(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	var many []string
	for range trimPage/4 + 10 {
		many = append(many, "{}")
	}
	for range 5 {
		publish(t, b, "a", many...)
	}
	if n, err := b.Trim(t.Context(), time.Now().Add(time.Hour)); int(n) != 5*len(many) || err != nil {
		t.Errorf("trimmed %d, %v; want %d", n, err, 5*len(many))
	}
}
