package redis

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// proxy stands between a store and the server and breaks connections.
type proxy struct {
	listener net.Listener
	target   string
	work     sync.WaitGroup

	mu      sync.Mutex
	script  []byte // its hash: what carries it is broken
	times   int    // how often
	deliver bool   // the server gets the command, only the answer is lost
	open    map[net.Conn]bool
}

// through returns a store whose connections pass a proxy.
func through(t *testing.T, target string) (*Store, *proxy) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: u.Host, open: map[net.Conn]bool{}}
	p.work.Go(p.accept)
	u.Host = listener.Addr().String()
	s, err := Open(u.String(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		_ = listener.Close()
		p.closeAll()
		p.work.Wait()
	})
	return s, p
}

// lose breaks the next connections that carry a script.
func (p *proxy) lose(script *redis.Script, times int, deliver bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script, p.times, p.deliver = []byte(script.Hash()), times, deliver
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.open[client], p.open[server] = true, true
		p.mu.Unlock()
		var silent sync.Once
		cut := make(chan struct{})
		p.work.Go(func() { p.requests(client, server, func() { silent.Do(func() { close(cut) }) }) })
		p.work.Go(func() { answers(client, server, cut) })
	}
}

// requests passes on what the client says, up to a command that is to be lost.
func (p *proxy) requests(client, server net.Conn, silence func()) {
	defer server.Close()
	defer client.Close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		broken, deliver := p.hit(buffer[:n])
		if broken {
			silence()
			if !deliver {
				return
			}
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) hit(request []byte) (broken, deliver bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == 0 || !bytes.Contains(request, p.script) {
		return false, false
	}
	p.times--
	return true, p.deliver
}

// answers passes on what the server says; after a cut it ends the connection
// instead, once the server has answered.
func answers(client, server net.Conn, cut <-chan struct{}) {
	defer server.Close()
	defer client.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		select {
		case <-cut:
			return
		default:
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		_ = conn.Close()
	}
}
