package modules

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// dice is a source of made-up facts that depends on a seed and a name only.
type dice struct{ r *rand.Rand }

func newDice(seed uint64, name string) *dice {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return &dice{r: rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// chance is true with probability p.
func (d *dice) chance(p float64) bool { return d.r.Float64() < p }

// between returns a time in the range.
func (d *dice) between(r Range) time.Duration {
	if r.Max <= r.Min {
		return r.Min
	}
	return r.Min + time.Duration(d.r.Int64N(int64(r.Max-r.Min)))
}

// value returns a number of the distribution, rounded to four digits.
func (d *dice) value(s Distribution) float64 {
	if s == (Distribution{}) {
		s = Distribution{Mean: 0.95}
	}
	bell := (d.r.Float64() + d.r.Float64() + d.r.Float64() - 1.5) / 1.5 // −1..1, most near 0
	v := min(max(s.Mean+bell*s.Spread, 0), 1)
	return float64(int(v*10000+0.5)) / 10000
}

func pick[T any](d *dice, from []T) T { return from[d.r.IntN(len(from))] }
