package redis

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/storetest"
)

// startCluster starts a cluster of one node, which owns all slots. It refuses
// scripts and transactions over several slots as any cluster does.
func startCluster(t *testing.T) string {
	t.Helper()
	server := testenv.StartRedis(t, testenv.RedisOptions{Args: []string{
		"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(freePort(t)), "--cluster-node-timeout", "1000",
	}})
	client := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(server.URL(), "redis://")})
	defer client.Close()
	if err := client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		info, err := client.ClusterInfo(ctx).Result()
		if err != nil {
			t.Fatalf("the cluster does not come up: %v", err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			return server.URL()
		}
		<-poll.C
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func TestCluster(t *testing.T) {
	url := startCluster(t)
	empty := func(t *testing.T) *Store {
		t.Helper()
		s := open(t, url, Options{Cluster: true})
		if err := s.client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Run("conformance", func(t *testing.T) {
		storetest.Conversations(t, func(t *testing.T) storetest.ConversationHarness {
			s := empty(t)
			h := harness(t, s)
			h.Store = looking{s}
			return h
		})
	})
	t.Run("every key has its name and an end", func(t *testing.T) { checkKeys(t, empty(t), "{a%3A1}") })
	t.Run("a commit leaves attention exact and the lease free", func(t *testing.T) { clusterAttention(t, empty(t)) })
	t.Run("a refused commit never hides attention", func(t *testing.T) { clusterRefusal(t, empty(t)) })
	t.Run("what is being created is not listed yet and not pruned", func(t *testing.T) { clusterCreation(t, empty(t)) })
	t.Run("erasing a conversation leaves no pointer to it", func(t *testing.T) { pointersOfAnErasedConversation(t, empty(t)) })
	t.Run("keys lead to the conversation that was created first", func(t *testing.T) { keyOfAnotherConversation(t, empty(t)) })
	t.Run("check", func(t *testing.T) {
		if err := empty(t).Check(t.Context()); err != nil {
			t.Errorf("a cluster: %v", err)
		}
		if err := open(t, url, Options{}).Check(t.Context()); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("a cluster taken for a single server: %v", err)
		}
	})
}

// looking checks the hints of a cluster as the engine does: it looks whether the
// conversation really wants attention.
type looking struct{ *Store }

func (l looking) DueConversations(ctx context.Context, at time.Time, limit int) ([]string, error) {
	hints, err := l.Store.DueConversations(ctx, at, limit)
	var due []string
	for _, id := range hints {
		attention, err := l.client.HGet(ctx, l.names.conversation(id).meta, "attention").Result()
		if err == nil && attention != "" {
			due = append(due, id)
		}
	}
	return due, err
}

func clusterAttention(t *testing.T, s *Store) {
	t.Helper()
	create(t, s, "a", func(w *store.ConversationWrite) { w.Attention = began.Add(time.Hour) })
	steps := []struct {
		name      string
		attention time.Time
		want      float64
	}{
		{"earlier", began.Add(time.Minute), float64(began.Add(time.Minute).UnixMilli())},
		{"later", began.Add(2 * time.Hour), float64(began.Add(2 * time.Hour).UnixMilli())},
		{"the same", began.Add(2 * time.Hour), float64(began.Add(2 * time.Hour).UnixMilli())},
		{"none", time.Time{}, 0},
		{"again", began, float64(began.UnixMilli())},
	}
	for _, step := range steps {
		turn(t, s, "a", func(w *store.ConversationWrite) { w.Attention = step.attention })
		if got := s.client.ZScore(t.Context(), timers, "a").Val(); got != step.want {
			t.Errorf("%s: the index says %f, want %f", step.name, got, step.want)
		}
		if n := s.client.Exists(t.Context(), s.names.conversation("a").lock).Val(); n != 0 {
			t.Errorf("%s: the lease was not given back", step.name)
		}
	}
}

func clusterRefusal(t *testing.T, s *Store) {
	t.Helper()
	create(t, s, "a", func(w *store.ConversationWrite) { w.Attention = began.Add(time.Hour) })
	for _, attention := range []time.Time{{}, began.Add(2 * time.Hour)} {
		w := next(t, s, acquire(t, s, "a"))
		w.Attention, w.Previous, w.State.Version = attention, 7, 8
		if err := s.Commit(t.Context(), w); rondo.CodeOf(err) != rondo.CodeConflict {
			t.Fatalf("commit of another version: %v", err)
		}
		if got, want := s.client.ZScore(t.Context(), timers, "a").Val(), float64(began.Add(time.Hour).UnixMilli()); got != want {
			t.Errorf("attention moved to %f by a refused commit, want %f", got, want)
		}
		if err := s.Release(t.Context(), w.Lease); err != nil {
			t.Fatal(err)
		}
	}
}

func clusterCreation(t *testing.T, s *Store) {
	t.Helper()
	w := first("a")
	w.Attention = began
	p, err := s.prepare("test", s.names.conversation("a"), w)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.before(t.Context(), "test", p); err != nil {
		t.Fatal(err)
	}
	list := func(at time.Time) []rondo.Conversation {
		t.Helper()
		got, err := s.ConversationList(t.Context(), "acme", "alice", at, store.ConversationPage{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := list(began); len(got) != 0 {
		t.Errorf("listed before it exists: %+v", got)
	}
	if err := s.Create(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if got := list(began); len(got) != 1 {
		t.Errorf("the list has %d conversations, want the one that was created", len(got))
	}
	if due, err := s.DueConversations(t.Context(), began, 10); err != nil || len(due) != 1 {
		t.Errorf("due are %v, %v; want the one that was created", due, err)
	}
}
