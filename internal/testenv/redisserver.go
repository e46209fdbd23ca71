package testenv

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// RedisOptions says what kind of throw-away Redis server a test wants. The zero
// value keeps nothing on disk: a kill loses everything.
type RedisOptions struct {
	// AppendOnly turns the append-only file on, with an fsync for every write, so
	// that what was acknowledged survives a kill. Default false.
	AppendOnly bool
	// Args are further arguments of redis-server. Default none.
	Args []string
}

// RedisServer is a Redis of its own, for tests that break it. Its methods are
// for one goroutine at a time.
type RedisServer struct {
	t       testing.TB
	options RedisOptions
	port    int
	dir     string
	process *Process
	output  *lockedBuffer
}

// StartRedis starts a Redis server that serves when it returns and ends with the
// test. Its port and directory stay the same over Restart.
func StartRedis(t testing.TB, options RedisOptions) *RedisServer {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		unavailable(t, `redis-server is not installed: run "scripts/testservers install"`)
	}
	s := &RedisServer{t: t, options: options, dir: t.TempDir()}
	// Between choosing a port and listening on it somebody else may take it.
	for range 5 {
		s.port = freePort(t)
		if s.launch() {
			return s
		}
		if !strings.Contains(s.output.String(), "ddress already in use") {
			break
		}
	}
	t.Fatalf("redis-server did not come up; its output:\n%s", s.output)
	return nil
}

// URL is where the server listens, whether or not it runs.
func (s *RedisServer) URL() string { return "redis://" + s.addr() }

// Kill ends the server as kill -9 does.
func (s *RedisServer) Kill() { s.process.Kill() }

// Restart starts the server again on the same port with what it kept on disk,
// killing it before if it runs.
func (s *RedisServer) Restart() {
	s.t.Helper()
	s.process.Kill()
	if !s.launch() {
		s.t.Fatalf("redis-server did not come up again; its output:\n%s", s.output)
	}
}

// Pause freezes the server: connections stay open and nothing answers.
func (s *RedisServer) Pause() { s.process.Signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *RedisServer) Resume() { s.process.Signal(syscall.SIGCONT) }

func (s *RedisServer) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// launch starts the process and reports whether it came to serve.
func (s *RedisServer) launch() bool {
	s.t.Helper()
	appendOnly := "no"
	if s.options.AppendOnly {
		appendOnly = "yes"
	}
	args := []string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dir, "--daemonize", "no",
		"--save", "", "--appendonly", appendOnly, "--appendfsync", "always", "--maxmemory-policy", "noeviction",
	}
	s.output = &lockedBuffer{}
	cmd := exec.Command("redis-server", append(args, s.options.Args...)...)
	cmd.Stdout = s.output
	cmd.Stderr = s.output
	s.process = Start(s.t, cmd)

	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	deadline := time.NewTimer(setupTimeout)
	defer deadline.Stop()
	for {
		if s.answers() {
			return s.process.Running()
		}
		select {
		case <-poll.C:
		case <-s.process.Done():
			return false
		case <-deadline.C:
			return false
		}
	}
}

// answers reports whether a PING gets its PONG; a server that still loads its
// data answers something else.
func (s *RedisServer) answers() bool {
	conn, err := net.DialTimeout("tcp", s.addr(), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := fmt.Fprint(conn, "PING\r\n"); err != nil {
		return false
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && line == "+PONG\r\n"
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// lockedBuffer collects a process's output while a test may read it.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
