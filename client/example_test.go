package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// A draft that cannot be published says everything that is wrong with it.
func ExampleClient_PublishDefinition() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"code": "invalid_definition", "detail": "the definition breaks 1 publish rules",
			"errors": [{"code": "cycle", "pointer": "/steps/review", "message": "lead on to another step"}]}`)
	}))
	defer server.Close()

	c, err := client.New(client.Config{BaseURL: server.URL, Token: "…"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.PublishDefinition(context.Background(), "0192f0c1-0000-7000-8000-00000000000a", "ready")
	if problem, ok := errors.AsType[*rondo.Error](err); ok {
		for _, field := range problem.Fields {
			fmt.Printf("%s at %s: %s\n", field.Code, field.Pointer, field.Message)
		}
	}
	// Output: cycle at /steps/review: lead on to another step
}
