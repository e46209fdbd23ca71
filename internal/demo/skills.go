package demo

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/skill"
)

// SkillOptions say how the simulated skills behave.
type SkillOptions struct {
	// Speed divides every latency. Default 1: as long as real ones take.
	Speed float64
	// FaultRate is the share of attempts that fail in a way that may be retried.
	FaultRate float64
	// Seed chooses which.
	Seed uint64
}

// simulated is what one kind of skill looks like from outside.
type simulated struct {
	name         string
	fast, slow   time.Duration // latency
	tokens       int64
	cost         float64
	ending, kind string // of the file it makes; "" = none
	file         func(*rand.Rand, []byte) []byte
	data         func(*rand.Rand, map[string]any)
}

func simulations() []simulated {
	const s, ms = time.Second, time.Millisecond
	return []simulated{
		{name: "plan", fast: 2 * s, slow: 4 * s, tokens: 1800, cost: 0.012, data: planData},
		{name: "image", fast: 3 * s, slow: 6 * s, tokens: 400, cost: 0.04, ending: "svg", kind: "image/svg+xml", file: drawPicture},
		{name: "segment", fast: 500 * ms, slow: 1500 * ms, cost: 0.002, ending: "svg", kind: "image/svg+xml", file: drawPicture, data: segmentData},
		{name: "video", fast: 5 * s, slow: 8 * s, tokens: 900, cost: 0.35, ending: "svg", kind: "image/svg+xml", file: drawLoop},
		{name: "music", fast: 3 * s, slow: 6 * s, tokens: 300, cost: 0.08, ending: "wav", kind: "audio/wav", file: playTone},
		{name: "sfx", fast: 2 * s, slow: 4 * s, tokens: 200, cost: 0.03, ending: "wav", kind: "audio/wav", file: playTone},
		{name: "mix", fast: 1 * s, slow: 2 * s, ending: "wav", kind: "audio/wav", file: playTone},
		{name: "config", fast: 300 * ms, slow: 500 * ms, ending: "json", kind: "application/json", file: echoInput},
		{name: "bundle", fast: 1 * s, slow: 2 * s, ending: "zip", kind: "application/zip", file: packInput},
		{name: "manifest", fast: 300 * ms, slow: 600 * ms, ending: "json", kind: "application/json", file: echoInput},
		{name: "validate", fast: 500 * ms, slow: 1 * s, data: func(_ *rand.Rand, data map[string]any) { data["valid"], data["checks"] = true, 5 }},
	}
}

// SimulatedSkills are the skills of the demo's campaign, by name@version. The same
// input gives the same output, file and latency; files are small and real.
func SimulatedSkills(opts SkillOptions) map[string]skill.Skill {
	if opts.Speed <= 0 {
		opts.Speed = 1
	}
	skills := map[string]skill.Skill{}
	for _, s := range simulations() {
		skills["simulated."+s.name+"@1"] = skill.Func(func(ctx context.Context, call skill.Call) (skill.Result, error) {
			return s.do(ctx, call, opts)
		})
	}
	return skills
}

func (s simulated) do(ctx context.Context, call skill.Call, opts SkillOptions) (skill.Result, error) {
	digest := inputDigest(s.name, call.Input)
	random := rand.New(rand.NewChaCha8(digest))
	latency := time.Duration(float64(s.fast+time.Duration(random.Int64N(int64(s.slow-s.fast)+1))) / opts.Speed)
	if err := wait(ctx, latency); err != nil {
		return skill.Result{}, err
	}
	debug := &skill.Debug{TimingsMs: map[string]float64{"simulated": float64(latency) / float64(time.Millisecond)}, Calls: 1, Tokens: s.tokens, Cost: s.cost}
	if faulty(opts, call) {
		failed := skill.Fail(rondo.CodeSkillError, "simulated: the provider is overloaded", true)
		failed.Debug = debug
		return failed, nil
	}
	short := hex.EncodeToString(digest[:6])
	data := map[string]any{"id": short}
	if s.ending != "" {
		data["uri"] = "simulated:" + s.name + "/" + short + "." + s.ending
	}
	if s.data != nil {
		s.data(random, data)
	}
	result := skill.Result{OK: true, Debug: debug}
	var err error
	if result.Data, err = json.Marshal(data); err != nil {
		return skill.Result{}, err
	}
	if s.file != nil {
		result.Artifacts = []skill.Artifact{{Type: s.kind, Name: s.name + "-" + short + "." + s.ending, Bytes: s.file(random, call.Input)}}
	}
	return result, nil
}

// inputDigest names an input, whatever the order of its members.
func inputDigest(name string, input json.RawMessage) [32]byte {
	text, err := canon.JSON(input)
	if err != nil {
		text = input
	}
	return sha256.Sum256(append([]byte(name+"\n"), text...))
}

// faulty decides by what is asked alone, so that a run can be repeated.
func faulty(opts SkillOptions, call skill.Call) bool {
	if opts.FaultRate <= 0 {
		return false
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %d", opts.Seed, call.RunID, call.StepID, call.Attempt))
	const steps = 1 << 32
	return float64(binary.BigEndian.Uint32(sum[:])) < opts.FaultRate*steps
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func planData(random *rand.Rand, data map[string]any) {
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	data["palette"] = []string{colour(random), colour(random), colour(random)}
	data["mood"] = pick("bright", "calm", "bold", "playful")
	data["genre"] = pick("runner", "puzzle", "wheel of fortune", "memory")
	data["scenes"] = []string{"intro", "game", "win", "lose"}
}

func segmentData(random *rand.Rand, data map[string]any) {
	data["box"] = map[string]int{"x": 40 + random.IntN(40), "y": 60 + random.IntN(40), "width": 80, "height": 32}
}
