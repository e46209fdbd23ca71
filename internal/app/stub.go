package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
)

// AgentStub serves stand-ins of agents until ctx ends, for trials without an
// account anywhere: they speak the formats of the real ones. Below /copilot is an
// agent of Copilot Studio that plays a recording, below /v1 an OpenAI-compatible
// model that follows the demo script.
func AgentStub(ctx context.Context, address string, out io.Writer) error {
	demo, err := newScripted("")
	if err != nil {
		return err
	}
	listen, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return &rondo.Error{Code: rondo.CodeUnavailable, Op: "listen", Message: err.Error(), Hint: "stop what listens there, or choose another address with --listen"}
	}
	var recorded agent.Agent // none: the recording itself
	mux := http.NewServeMux()
	mux.Handle("/copilot/", agenttest.NewCopilot(recorded))
	mux.Handle("/v1/", agenttest.NewOpenAI(demo))
	base := "http://" + listen.Addr().String()
	if _, err := fmt.Fprintf(out, "Copilot Studio, recorded   COPILOT_DIRECT_CONNECT_URL=%s/copilot/conversations COPILOT_TOKEN=trial\nOpenAI-compatible, a demo  OPENAI_BASE_URL=%s/v1 OPENAI_API_KEY=trial OPENAI_MODEL=demo\n", base, base); err != nil {
		return errors.Join(err, listen.Close())
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: time.Minute}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		stopped <- server.Shutdown(brief)
	}()
	if err := server.Serve(listen); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
