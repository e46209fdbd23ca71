package acceptance

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/modules"
)

func TestKilledProcessesOnPostgresAndRedisLoseNothing(t *testing.T) {
	t.Parallel()
	newCrash(t, pair{store: "postgres", redis: true}, escalation, 2000, 5).onRedis()
}

func TestKilledProcessesOnMariaDBAndRedisLoseNothing(t *testing.T) {
	t.Parallel()
	newCrash(t, pair{store: "mariadb", redis: true}, errands, 300, 3).onRedis()
}

func TestKilledProcessesOnOneSQLiteFileLoseNothing(t *testing.T) {
	t.Parallel()
	newCrash(t, pair{store: "sqlite"}, errands, 300, 3).onOneFile()
}

// onRedis runs two servers; the modules live in the test and survive.
func (c *crash) onRedis() {
	ctx, cancel := context.WithTimeout(c.t.Context(), crashLimit)
	defer cancel()
	for i := range c.members {
		c.members[i] = startProgram(c.t, "serve", "--database", c.ground.database, "--redis", c.ground.redisURL,
			"--migrate", "--no-auth-required", "--log-level", "warn")
	}
	c.members[0].publishDefinition(c.t, crashProduct, c.source)
	defer c.people(ctx)()
	events := c.ground.openBus(c.t)
	defer events.Close()
	suite := modules.New(events, modules.Config{
		FailureRate: 0.1, ConsentRefusal: 0.05, Confidence: modules.Distribution{Mean: 0.75, Spread: 0.25}, Seed: c.seed,
	})
	if err := suite.Start(ctx); err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = suite.Stop(context.WithoutCancel(ctx)) }()

	var created []bus.Message
	for i := range c.cases {
		e := c.created(i)
		created = append(created, bus.Message{Stream: e.Type, EventID: e.EventID, Envelope: e.Encode()})
	}
	for batch := range slices.Chunk(created, 100) {
		if err := events.Publish(ctx, batch); err != nil {
			c.t.Fatal(err)
		}
	}
	streams := newStreams(c.t, c.ground.redisURL)
	defer streams.client.Close()
	c.killAll(ctx, 9*c.cases, func() int {
		streams.age(ctx)
		return streams.entries(ctx)
	})
	c.check(ctx, c.awaitEnd(ctx, func() { streams.age(ctx) }), func(stream string) [][]byte { return streams.published(ctx, c.t, stream) })
}

// onOneFile runs two processes that hold engine and modules both, on one file.
func (c *crash) onOneFile() {
	ctx, cancel := context.WithTimeout(c.t.Context(), crashLimit)
	defer cancel()
	for i := range c.members {
		c.members[i] = startProgram(c.t, "dev", "--every", "0", "--database", c.ground.database)
	}
	c.members[0].publishDefinition(c.t, crashProduct, c.source)
	defer c.people(ctx)()
	var senders sync.WaitGroup
	defer senders.Wait()
	const hands = 4
	for hand := range hands {
		senders.Go(func() {
			for i := hand; i < c.cases; i += hands {
				c.post(ctx, i)
			}
		})
	}
	c.killAll(ctx, 5*c.cases, func() int {
		head, err := c.store.LogHead(ctx)
		if err != nil {
			return 0
		}
		return int(head)
	})
	c.check(ctx, c.awaitEnd(ctx, func() {}), func(stream string) [][]byte {
		rows, err := c.store.LogRead(ctx, []string{stream}, 0, 100*c.cases)
		if err != nil {
			c.t.Fatal(err)
		}
		var all [][]byte
		for _, row := range rows {
			all = append(all, row.Envelope)
		}
		return all
	})
}

// people fills in the forms of errands as they come, until the returned function is
// called. A process that does not answer is not asked twice: the form is still
// there and the other gets it.
func (c *crash) people(ctx context.Context) (stop func()) {
	if c.source != errands {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() {
		member := 0
		poll(ctx, func() bool {
			member++
			p := c.members[member%len(c.members)]
			_, answer, err := p.call(http.MethodGet, "/workflow-instances?status=running&step_id=look&limit=100", nil)
			var waiting listBody[instanceBody]
			if err != nil || json.Unmarshal(answer, &waiting) != nil {
				return false
			}
			for _, i := range waiting.Items {
				_, _, _ = p.call(http.MethodPost, "/workflow-instances/"+i.ID+"/complete-step", []byte(`{"step_id":"look","outcome":"on_seen","output":{"remark":"fine"}}`))
			}
			return false
		})
	})
	return func() {
		cancel()
		working.Wait()
	}
}

// post publishes the beginning of a case to one process, and as long as that
// does not answer well, to the other.
func (c *crash) post(ctx context.Context, i int) {
	body := c.created(i).Encode()
	member := i
	if !poll(ctx, func() bool {
		member++
		status, _, err := c.members[member%len(c.members)].call(http.MethodPost, "/events", body)
		return err == nil && (status == http.StatusAccepted || status == http.StatusOK)
	}) {
		c.t.Errorf("on %s, %s: nobody took case %s", c.ground.where(), c.label(), c.caseID(i))
	}
}

// streams looks at Redis beside the bus.
type streams struct {
	client *redis.Client
	keys   []string
	aged   time.Time // when age last looked
}

func newStreams(t *testing.T, url string) *streams {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	s := &streams{client: redis.NewClient(options)}
	for _, name := range event.Types() {
		s.keys = append(s.keys, "events:"+name)
	}
	return s
}

// entries counts what was ever published: nothing is trimmed meanwhile.
func (s *streams) entries(ctx context.Context) int {
	pipe := s.client.Pipeline()
	for _, key := range s.keys {
		pipe.XLen(ctx, key)
	}
	results, err := pipe.Exec(ctx)
	if err != nil {
		return 0
	}
	total := 0
	for _, result := range results {
		total += int(result.(*redis.IntCmd).Val())
	}
	return total
}

// published returns every entry of a stream.
func (s *streams) published(ctx context.Context, t *testing.T, stream string) [][]byte {
	t.Helper()
	entries, err := s.client.XRange(ctx, "events:"+stream, "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, entry := range entries {
		envelope, _ := entry.Values["envelope"].(string)
		all = append(all, []byte(envelope))
	}
	return all
}

// age makes a minute pass for what a consumer took and has not acked for two
// seconds, so that the test does not have to wait until others may have it.
func (s *streams) age(ctx context.Context) {
	if time.Since(s.aged) < time.Second/2 {
		return
	}
	s.aged = time.Now()
	for _, key := range s.keys {
		pending, err := s.client.XPendingExt(ctx, &redis.XPendingExtArgs{
			Stream: key, Group: engine.Group, Idle: 2 * time.Second, Start: "-", End: "+", Count: 10_000,
		}).Result()
		if err != nil {
			continue // the stream has no entries yet
		}
		for _, p := range pending {
			if p.Idle < time.Minute {
				s.client.Do(ctx, "xclaim", key, engine.Group, p.Consumer, 0, p.ID, "idle", (2 * time.Minute).Milliseconds(), "justid")
			}
		}
	}
}
