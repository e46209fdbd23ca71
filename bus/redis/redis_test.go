package redis

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rondo-engine/rondo/bus/bustest"
	"github.com/rondo-engine/rondo/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	bustest.Run(t, bustest.Harness{
		Open: func(t *testing.T) bustest.Storage { return &storage{url: testenv.Redis(t)} },
	})
}

// storage is a database of a real server.
type storage struct{ url string }

func (s *storage) Process(t *testing.T) bustest.Process {
	b := open(t, s.url, Options{Silent: 500 * time.Millisecond})
	return bustest.Process{Bus: b, Trim: b.Trim, Kill: func() { _ = b.client.Close() }}
}

func (s *storage) Stored(t *testing.T, stream string) int {
	b := open(t, s.url, Options{})
	defer b.Close()
	n, err := b.client.XLen(t.Context(), b.keys.stream(stream)).Result()
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

func (s *storage) Lose(t *testing.T) {
	b := open(t, s.url, Options{})
	defer b.Close()
	if err := b.client.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, url string, opts Options) *Bus {
	t.Helper()
	opts.Log = slog.New(slog.DiscardHandler)
	b, err := New(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func BenchmarkPublishFetchAck(b *testing.B) {
	for _, batch := range []int{1, 32, 128} {
		b.Run("batch "+strconv.Itoa(batch), func(b *testing.B) {
			p := open(b, testenv.Redis(b), Options{})
			defer p.Close()
			bustest.BenchmarkPublishFetchAck(b, p, batch)
		})
	}
}
