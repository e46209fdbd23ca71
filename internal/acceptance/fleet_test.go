package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/internal/testenv"
)

// program is the rondo binary as one process that can be killed and started
// again on the same address.
type program struct {
	address string
	args    []string
	process *testenv.Process
	errors  *tail
	client  *http.Client
}

// startProgram runs the rondo binary and waits until it is ready.
func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{address: freeAddress(t), errors: &tail{}, client: &http.Client{Timeout: 20 * time.Second}}
	p.args = append(args, "--listen", p.address)
	p.start(t)
	return p
}

func (p *program) start(t *testing.T) {
	t.Helper()
	cmd := exec.Command(testenv.RondoBinary(t), p.args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
	cmd.Stderr = p.errors
	p.process = testenv.Start(t, cmd)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !poll(ctx, func() bool {
		status, _, err := p.call(http.MethodGet, "/health/ready", nil)
		return err == nil && status == http.StatusOK
	}) {
		t.Fatalf("rondo %s did not become ready in %v; it said:\n%s", strings.Join(p.args, " "), patience, p.errors)
	}
}

// kill ends the process as kill -9 does.
func (p *program) kill() {
	p.process.Kill()
	p.client.CloseIdleConnections()
}

func (p *program) call(method, path string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequest(method, "http://"+p.address+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// publishDefinition makes a source the active definition of a product.
func (p *program) publishDefinition(t *testing.T, product, source string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"product_id": product, "definition": source})
	if err != nil {
		t.Fatal(err)
	}
	p.createAndPublish(t, body)
}

// createAndPublish makes what a body asks for and publishes it.
func (p *program) createAndPublish(t *testing.T, body []byte) {
	t.Helper()
	status, answer, err := p.call(http.MethodPost, "/workflow-definitions", body)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("create definition: %d %s %v", status, answer, err)
	}
	var d struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(answer, &d); err != nil {
		t.Fatal(err)
	}
	if status, answer, err = p.call(http.MethodPost, "/workflow-definitions/"+d.ID+"/publish", []byte(`{}`)); err != nil || status != http.StatusOK {
		t.Fatalf("publish definition: %d %s %v", status, answer, err)
	}
}

// poll looks until something holds or ctx ends.
func poll(ctx context.Context, holds func() bool) bool {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// tail keeps the end of what a process says.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailSize = 16 << 10

func (b *tail) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, p...)
	if len(b.kept) > tailSize {
		b.kept = b.kept[len(b.kept)-tailSize:]
	}
	return len(p), nil
}

func (b *tail) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.kept)
}
