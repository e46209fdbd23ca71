package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store/storetest"
)

// The client looks for a server that is gone once a second, and ends that when it
// finds itself closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

var began = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)

func open(t testing.TB, url string, opts Options) *Store {
	t.Helper()
	s, err := Open(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestConversations(t *testing.T) {
	storetest.Conversations(t, func(t *testing.T) storetest.ConversationHarness {
		return harness(t, open(t, testenv.Redis(t), Options{}))
	})
}

// harness lets the suite look behind a store that has its database for itself.
func harness(t *testing.T, s *Store) storetest.ConversationHarness {
	t.Helper()
	return storetest.ConversationHarness{
		Store: s, Now: func() time.Time { return began },
		Advance: func(d time.Duration) { age(t, s, d) },
		Left:    func() int { return len(allKeys(t, s)) },
		Corrupt: func(id string) { set(t, s, s.names.conversation(id).wf, `{"step":`) },
		Older: func(id, tenant, user string) {
			c := s.names.conversation(id)
			set(t, s, c.wf, `{"step":"gather_info","collectedData":{"name":"Alice"},"turnCount":2,"status":"active"}`)
			set(t, s, c.conv, olderRecord(t, id, tenant, user))
		},
	}
}

// olderRecord is a conversation as earlier versions wrote it.
func olderRecord(t *testing.T, id, tenant, user string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"externalId": id, "tenantId": tenant, "userId": user, "status": "active",
		"createdAt": began, "updatedAt": began,
		"history": []any{
			map[string]any{"id": "m1", "role": "user", "kind": "text", "text": "hello"},
			map[string]any{"id": "m2", "role": "assistant", "kind": "text", "text": "hi", "extractedPayload": nil},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// set writes a key that lives for a day, as earlier versions did.
func set(t *testing.T, s *Store, key, value string) {
	t.Helper()
	if err := s.client.Set(t.Context(), key, value, 24*time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
}

// age lets time pass for everything that is stored: each key loses so much of its
// life. A key without one fails the test, because nothing would ever remove it.
func age(t *testing.T, s *Store, d time.Duration) {
	t.Helper()
	ctx := t.Context()
	for key, left := range allKeys(t, s) {
		var err error
		if left <= d {
			err = s.client.Del(ctx, key).Err()
		} else {
			err = s.client.PExpire(ctx, key, left-d).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// allKeys are the keys of the database with the life they have left.
func allKeys(t testing.TB, s *Store) map[string]time.Duration {
	t.Helper()
	found := map[string]time.Duration{}
	scan := func(ctx context.Context, client *redis.Client) error {
		keys := client.Scan(ctx, 0, "*", 1000).Iterator()
		for keys.Next(ctx) {
			left, err := client.PTTL(ctx, keys.Val()).Result()
			if err != nil {
				return err
			}
			if left == -1 {
				return fmt.Errorf("key %s never expires", keys.Val())
			}
			if left > 0 {
				found[keys.Val()] = left
			}
		}
		return keys.Err()
	}
	var err error
	switch client := s.client.(type) {
	case *redis.Client:
		err = scan(t.Context(), client)
	case *redis.ClusterClient:
		err = client.ForEachMaster(t.Context(), scan)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}
