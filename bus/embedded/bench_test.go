package embedded_test

import (
	"strconv"
	"testing"

	"github.com/rondo-engine/rondo/bus/bustest"
	"github.com/rondo-engine/rondo/bus/embedded"
	"github.com/rondo-engine/rondo/store/memory"
)

func BenchmarkPublishFetchAck(b *testing.B) {
	for _, batch := range []int{1, 32, 128} {
		b.Run("batch "+strconv.Itoa(batch), func(b *testing.B) {
			s := memory.Open(memory.Options{Embedded: true})
			p := newBus(s, s, embedded.Options{})
			defer p.Close()
			bustest.BenchmarkPublishFetchAck(b, p, batch)
		})
	}
}
