package bustest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/bus"
)

// BenchmarkPublishFetchAck carries b.N entries of about 400 bytes through the
// bus, published in batches by one goroutine, fetched and acked by two
// consumers, and reports entries/s and the CPU of the whole process per entry.
func BenchmarkPublishFetchAck(b *testing.B, p bus.Bus, batch int) {
	ctx := b.Context()
	streams := []string{"a.requested", "b.requested", "c.requested", "a.completed", "b.completed"}
	envelope := []byte(`{"name":"` + string(make([]byte, 400)) + `"}`)
	var left atomic.Int64
	left.Store(int64(b.N))
	var once sync.Once
	done := make(chan struct{})
	fetching, stop := context.WithCancel(ctx)
	defer stop()
	const consumers = 2
	ended := make(chan struct{}, consumers)
	for range consumers {
		c, err := p.Subscribe(ctx, bus.Subscription{Group: "bench", Streams: streams})
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			defer func() {
				_ = c.Close()
				ended <- struct{}{}
			}()
			for {
				got, err := c.Fetch(fetching, 256)
				if err != nil {
					return
				}
				if err := c.Ack(fetching, got); err != nil {
					return
				}
				if left.Add(-int64(len(got))) <= 0 {
					once.Do(func() { close(done) })
					return
				}
			}
		}()
	}
	b.ReportAllocs()
	b.ResetTimer()
	cpu, start := cpuTime(), time.Now()
	for sent := 0; sent < b.N; {
		messages := make([]bus.Message, min(batch, b.N-sent))
		for i := range messages {
			messages[i] = bus.Message{Stream: streams[(sent+i)%len(streams)], EventID: message("", sent+i).EventID, Envelope: envelope}
		}
		if err := p.Publish(ctx, messages); err != nil {
			b.Fatal(err)
		}
		sent += len(messages)
	}
	<-done
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "entries/s")
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "cpu-ns/entry")
	stop()
	for range consumers {
		<-ended
	}
}
