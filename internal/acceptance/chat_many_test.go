package acceptance

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-engine/rondo/internal/testenv"
)

const (
	manyConversations = 10_000
	manyInFlight      = 200
	// manyResident is what the process may have in memory then: conversations are
	// in Redis, so it does not depend on how many there are.
	manyResident = 400 << 20
)

// TestTenThousandConversationsTwoHundredAtOnce opens conversations and lets
// callers talk in all of them: some meet in one conversation, and only that may
// be refused.
func TestTenThousandConversationsTwoHundredAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes many turns")
	}
	g := newGround(t, pair{store: "sqlite", redis: true})
	p := startProgram(t, "serve", "--migrate", "--no-auth-required", "--database", g.database, "--redis", g.redisURL, "--llm-provider", "scripted", "--log-level", "error")
	p.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxConnsPerHost: manyInFlight, MaxIdleConnsPerHost: manyInFlight}}

	ids := make([]string, manyConversations)
	var opening errgroup.Group
	opening.SetLimit(manyInFlight)
	for i := range ids {
		opening.Go(func() error {
			ids[i] = p.startChat(t, "")
			return nil
		})
	}
	if err := opening.Wait(); err != nil {
		t.Fatal(err)
	}

	var busy atomic.Int64
	committed := make([]atomic.Int64, manyConversations)
	var mu sync.Mutex
	strange := map[string]int{}
	var talking errgroup.Group
	talking.SetLimit(manyInFlight)
	for i := range manyConversations {
		talking.Go(func() error {
			to := i
			if i%10 == 1 { // in a conversation that the one before talks in too
				to = i - 1
			}
			status, answer, err := p.sendChat(ids[to], "hello")
			switch {
			case err == nil && status == http.StatusOK:
				committed[to].Add(1)
			case err == nil && status == http.StatusConflict:
				busy.Add(1)
			default:
				mu.Lock()
				strange[fmt.Sprint(status, " ", string(answer), " ", err)]++
				mu.Unlock()
			}
			return nil
		})
	}
	_ = talking.Wait()
	if len(strange) > 0 {
		t.Fatalf("%d turns met another, and these were neither that nor answered: %v\n%s", busy.Load(), strange, p.errors)
	}
	for i := 0; i < manyConversations; i += manyConversations / 100 {
		if got, want := p.conversation(t, ids[i]).WorkflowState.TurnCount, int(committed[i].Load()); got != want {
			t.Errorf("conversation %d has %d turns, and %d were answered", i, got, want)
		}
	}
	most := int64(manyResident)
	if testenv.Race {
		most *= 4
	}
	if resident := residentOf(t, p.process.PID()); resident > most {
		t.Errorf("the server has %d MiB in memory, want at most %d", resident>>20, most>>20)
	} else {
		t.Logf("%d turns met another; %d MiB", busy.Load(), resident>>20)
	}
}

// residentOf is the memory of a process in bytes.
func residentOf(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skipf("this system does not tell: %v", err)
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kb, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("no VmRSS in the status of the process")
	return 0
}
