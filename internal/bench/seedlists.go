package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// listSpan is the time over which the instances of a list benchmark started.
const listSpan = 30 * 24 * time.Hour

// seededLists is what is known of the instances that a list benchmark put into
// its store.
type seededLists struct {
	ids                        *rondo.IDs
	first, clock               time.Time
	definition, rareDefinition rondo.ID
	middle                     rondo.ID // the id of an instance half way through
	someCase                   string
}

// at is a time so far through the span.
func (s *seededLists) at(part float64) time.Time {
	return s.first.Add(time.Duration(part * float64(listSpan)))
}

// seed puts the instances into the store, oldest first, the states mixed evenly.
func (l Lists) seed(ctx context.Context) (*seededLists, error) {
	s := &seededLists{first: time.Now().UTC().Add(-listSpan).Truncate(time.Microsecond)}
	s.clock = s.first
	s.ids = rondo.NewIDs(func() time.Time { return s.clock })
	s.definition, s.rareDefinition = s.ids.New(), s.ids.New()
	halted := l.Instances / 20
	total := l.Instances + halted + l.Finished
	counts := map[rondo.Status]int{rondo.StatusRunning: l.Instances, rondo.StatusHalted: halted, rondo.StatusCompleted: l.Finished}
	made := map[rondo.Status]int{}
	for n := 0; n < total; {
		write := &store.Write{}
		var load store.Load
		for ; n < total && len(write.Instances) < seedBatch; n++ {
			s.clock = s.at(float64(n) / float64(total))
			status := s.next(counts, made, n, total)
			instance := s.instance(n, status)
			write.Instances = append(write.Instances, store.InstanceWrite{Instance: instance})
			write.Attributes = append(write.Attributes, s.attributes(n, instance)...)
			load.Cases = append(load.Cases, instance.Key())
			if n == total/2 {
				s.middle, s.someCase = instance.ID, instance.CaseID
			}
		}
		if _, err := l.Store.Update(ctx, load, func(*store.Loaded) (*store.Write, error) { return write, nil }); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// next is the state that lags most behind its share.
func (s *seededLists) next(counts, made map[rondo.Status]int, n, total int) rondo.Status {
	best, most := rondo.StatusRunning, -1.0
	for _, status := range []rondo.Status{rondo.StatusRunning, rondo.StatusHalted, rondo.StatusCompleted} {
		if lag := float64(counts[status])*float64(n+1)/float64(total) - float64(made[status]); lag > most && made[status] < counts[status] {
			best, most = status, lag
		}
	}
	made[best]++
	return best
}

// instance is the n-th, with about 2 KB of context.
func (s *seededLists) instance(n int, status rondo.Status) *rondo.Instance {
	at := s.clock.Truncate(time.Microsecond)
	caseID := "case-" + strconv.Itoa(n)
	i := &rondo.Instance{
		ID: s.ids.New(), OrgID: org, CaseID: caseID, ProductID: product, DefinitionID: s.definition,
		SnapshotHash: strings.Repeat("0", 64), Mode: rondo.ModeActive, Status: status, StartedAt: at, DeadlineAt: at.Add(2 * listSpan),
		Context: rondo.Context{"case_id": json.RawMessage(strconv.Quote(caseID))}, Version: 1,
	}
	for step := range 8 {
		i.Context[fmt.Sprintf("step_%d", step)] = json.RawMessage(`{"value":"` + answer + `"}`)
	}
	if n%1000 == 7 {
		i.DefinitionID = s.rareDefinition
	}
	if n%1000 == 11 {
		i.Mode = rondo.ModeClientDriven
	}
	if status == rondo.StatusCompleted {
		i.CompletedAt = at.Add(time.Hour)
		return i
	}
	step := fmt.Sprintf("step_%d", n%8)
	if n%2000 == 13 {
		step = "rare_step"
	}
	i.WakeAt = at.Add(listSpan + time.Hour)
	i.Machine = rondo.Machine{
		Live:  []rondo.Attempt{{RowID: s.ids.New(), StepID: step, Kind: stepKind, Status: rondo.StepInProgress, Number: 1, StartedAt: at}},
		Steps: map[string]rondo.StepLife{step: {Attempts: 1}},
	}
	if status == rondo.StatusHalted {
		i.HaltReason, i.HaltStepID = "step_timeout", step
		if n%100 == 0 {
			i.HaltReason = "rare_reason"
		}
	}
	return i
}

// attributes are searchable values: common and rare tags, places, a number.
func (s *seededLists) attributes(n int, i *rondo.Instance) []rondo.Attribute {
	of := func(path string, values ...rondo.AttributeValue) rondo.Attribute {
		return rondo.Attribute{OrgID: org, InstanceID: i.ID, Path: path, Values: values}
	}
	var tags []rondo.AttributeValue
	if n%2 == 0 {
		tags = append(tags, text("common"))
	}
	if n%500 == 3 {
		tags = append(tags, text("rare"))
	}
	site := []string{"north", "south", "east", "west"}[n%4]
	if n%500 == 1 {
		site = "pole"
	}
	return []rondo.Attribute{
		of(rondo.TagPath, tags...),
		of("case.site", text(site)),
		of("ai_review.confidence", number(float64(n*7919%1000)/1000)),
	}
}

func text(s string) rondo.AttributeValue { return rondo.AttributeValue{Text: s} }

func number(n float64) rondo.AttributeValue {
	return rondo.AttributeValue{Text: strconv.FormatFloat(n, 'g', -1, 64), Number: n, IsNumber: true}
}
