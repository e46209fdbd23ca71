package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/auth"
)

type alive struct {
	Status  string `json:"status" enum:"ok"`
	Version string `json:"version"`

	Provider     *string `json:"provider" doc:"Of the agent that conversations are held with; null without one"`
	Model        *string `json:"model" doc:"Of that agent, where it has one"`
	AuthRequired bool    `json:"authRequired" doc:"A token is needed"`
	Redis        bool    `json:"redis" doc:"Conversations are kept in Redis"`
}

type readiness struct {
	Status     string               `json:"status" enum:"ok,unavailable"`
	Components map[string]component `json:"components"`
}

type component struct {
	Status string `json:"status" enum:"ok,unavailable"`
	Lag    int64  `json:"lag" doc:"Entries that wait, for components that queue"`
}

type healthOut struct {
	Body alive
}

type readyOut struct {
	Status int
	Body   readiness
}

func (a *API) registerHealth(r *registrar) {
	handle(r, "get-health", nil, func(context.Context, *call) (*healthOut, error) {
		return &healthOut{Body: a.alive()}, nil
	})
	handle(r, "get-readiness", nil, a.ready)
	r.also("get-readiness", http.StatusServiceUnavailable, "A component cannot be used")
	r.plain("get-metrics", "text/plain", a.cfg.Metrics.Handler().ServeHTTP)
}

func (a *API) alive() alive {
	_, open := a.cfg.Auth.(auth.Stub)
	out := alive{Status: "ok", Version: a.cfg.Version, AuthRequired: !open, Redis: a.cfg.ChatRedis}
	if a.cfg.Chat != nil {
		info := a.cfg.Chat.Info()
		out.Provider, out.Model = maybe(info.Provider), maybe(info.Model)
	}
	return out
}

// ready names what is wrong by component only: what the error says is for the
// log, because anyone may ask.
func (a *API) ready(ctx context.Context, _ *call) (*readyOut, error) {
	out := &readyOut{Status: http.StatusOK, Body: readiness{Status: "ok", Components: map[string]component{}}}
	var causes []error
	for _, c := range a.cfg.Health.Ready(ctx) {
		state := component{Status: "ok", Lag: c.Lag}
		if c.Err != nil {
			state.Status = "unavailable"
			out.Status, out.Body.Status = http.StatusServiceUnavailable, "unavailable"
			causes = append(causes, rondo.Op(c.Name, c.Err))
		}
		out.Body.Components[c.Name] = state
	}
	exchangeOf(ctx).failure = errors.Join(causes...)
	return out, nil
}
