package redis

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo/internal/testenv"
)

// number returns n texts: "1", "2" …
func number(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint(i + 1)
	}
	return texts
}

func shorten(t *testing.T, b *Bus, above, keep int64) map[string]int64 {
	t.Helper()
	lengths, err := b.Shorten(t.Context(), above, keep)
	if err != nil {
		t.Fatal(err)
	}
	return lengths
}

func wantLengths(t *testing.T, b *Bus, above, keep int64, want map[string]int64) {
	t.Helper()
	if diff := cmp.Diff(want, shorten(t, b, above, keep)); diff != "" {
		t.Errorf("lengths when %d of more than %d are kept (-want +got):\n%s", keep, above, diff)
	}
}

// acked makes a group read n entries and waits until the server has its acks.
func acked(t *testing.T, b *Bus, c *consumer, n int) {
	t.Helper()
	ack(t, c, fetchN(t, c, n))
	if err := c.sendAcks(t.Context(), c.takeAcks()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; {
		lag, err := b.Lag(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range lag[c.streams[0]] {
			if g.Group == c.group && g.Pending == 0 {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("acks did not arrive: %v", lag)
		}
	}
}

func TestALongStreamLosesTheOldestThatEveryGroupHasAcked(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	fast, slow := subscribe(t, b, "fast", "a"), subscribe(t, b, "slow", "a")
	publish(t, b, "a", number(20)...)
	publish(t, b, "b", "1")
	acked(t, b, fast, 20)
	wantLengths(t, b, 12, 10, map[string]int64{"a": 20, "b": 1}) // slow has acked nothing
	acked(t, b, slow, 4)
	wantLengths(t, b, 12, 10, map[string]int64{"a": 16, "b": 1})
	acked(t, b, slow, 16)
	wantLengths(t, b, 12, 10, map[string]int64{"a": 10, "b": 1}) // no fewer, although all are acked
	wantLengths(t, b, 10, 5, map[string]int64{"a": 10, "b": 1})  // short enough
	late := subscribe(t, b, "late", "a")
	if got, want := string(fetchN(t, late, 1)[0].Envelope), "11"; got != want {
		t.Errorf("the oldest entry left is %s, want %s", got, want)
	}
}

func TestAPendingEntryHoldsWhatIsBehindIt(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	c := subscribe(t, b, "g", "a")
	publish(t, b, "a", number(6)...)
	got := fetchN(t, c, 6)
	ack(t, c, append(got[:2:2], got[3:]...)) // not the third
	if err := c.sendAcks(t.Context(), c.takeAcks()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); shorten(t, b, 1, 1)["a"] != 4; {
		if time.Now().After(deadline) {
			t.Fatalf("%d entries are left, want the third and what follows", shorten(t, b, 1, 1)["a"])
		}
	}
}

func TestAStreamThatNobodyReadsKeepsItsNewest(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	publish(t, b, "a", number(2*shortenPage+7)...)
	wantLengths(t, b, 5, 5, map[string]int64{"a": 5})
	got := fetchN(t, subscribe(t, b, "g", "a"), 5)
	if first, want := string(got[0].Envelope), fmt.Sprint(2*shortenPage+3); first != want {
		t.Errorf("the oldest entry left is %s, want %s", first, want)
	}
}

func TestShortenKnowsStreamsThatWereThereBefore(t *testing.T) {
	url := testenv.Redis(t)
	publish(t, openForTest(t, url, Options{Prefix: "mine:"}), "a", "1", "2")
	publish(t, openForTest(t, url, Options{Prefix: "other:"}), "not mine", "1")
	b := openForTest(t, url, Options{Prefix: "mine:"})
	wantLengths(t, b, 12, 10, map[string]int64{"a": 2})
	publish(t, b, "b", "1")
	wantLengths(t, b, 12, 10, map[string]int64{"a": 2, "b": 1})
}

func TestAVanishedStreamIsEmpty(t *testing.T) {
	b := openForTest(t, testenv.Redis(t), Options{})
	publish(t, b, "a", "1")
	if err := b.client.Del(t.Context(), b.keys.stream("a")).Err(); err != nil {
		t.Fatal(err)
	}
	wantLengths(t, b, 12, 10, map[string]int64{"a": 0})
}
