package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/internal/definition"
)

// remote is how commands reach a server, and how they print its answers.
type remote struct {
	Server string `help:"Address of the server. Default: http://127.0.0.1:3006." default:"http://127.0.0.1:3006" env:"RONDO_SERVER" placeholder:"URL" group:"Server and output:"`
	Token  string `help:"Bearer token. A server of rondo dev needs none." env:"RONDO_TOKEN" placeholder:"TOKEN" group:"Server and output:"`
	Org    string `help:"Act for this organisation; only an admin may name another than their own." env:"RONDO_ORG" placeholder:"ORG" group:"Server and output:"`
	Output string `short:"o" enum:"table,json" default:"table" help:"How to print: table or json." group:"Server and output:"`
}

func (r remote) client() (*client.Client, error) {
	address := r.Server
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return client.New(client.Config{BaseURL: address, Token: r.Token, OrgID: r.Org})
}

func (r remote) json() bool { return r.Output == "json" }

// fetch sends a call and prints its answer: with show, or as JSON when that is
// asked for or show is nil.
func (r remote) fetch(ctx context.Context, s streams, call client.Call, show func(json.RawMessage) error) error {
	server, err := r.client()
	if err != nil {
		return err
	}
	return r.fetchWith(ctx, s, server, call, show)
}

func (r remote) fetchWith(ctx context.Context, s streams, server *client.Client, call client.Call, show func(json.RawMessage) error) error {
	var answer json.RawMessage
	if _, err := server.Do(ctx, call, &answer); err != nil {
		return err
	}
	if r.json() || show == nil {
		return printJSON(s.out, answer)
	}
	return show(answer)
}

// fetchInto is fetchWith for callers that need the answer whatever is printed.
func (r remote) fetchInto(ctx context.Context, s streams, server *client.Client, call client.Call, out any, show func() error) error {
	var answer json.RawMessage
	if _, err := server.Do(ctx, call, &answer); err != nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return err
	}
	if r.json() {
		return printJSON(s.out, answer)
	}
	return show()
}

// fetchList prints a list in columns.
func fetchList[T any](ctx context.Context, s streams, r remote, call client.Call, heading []string, row func(T) []string) error {
	return r.fetch(ctx, s, call, func(answer json.RawMessage) error { return printItems(s, answer, heading, row) })
}

// fetchAll prints a list that is short enough to be shown whole, all its pages.
func fetchAll[T any](ctx context.Context, s streams, r remote, server *client.Client, path string, heading []string, row func(T) []string) error {
	items, rows := []json.RawMessage{}, [][]string{heading}
	for raw, err := range client.Each[json.RawMessage](ctx, server, path, nil) {
		if err != nil {
			return err
		}
		var item T
		if err := json.Unmarshal(raw, &item); err != nil {
			return err
		}
		items, rows = append(items, raw), append(rows, row(item))
	}
	if r.json() {
		return printList(s.out, items)
	}
	return table(s.out, rows)
}

// maxLimit is how much one page can hold.
const maxLimit = 200

// paged are the flags of long lists.
type paged struct {
	Limit  int    `help:"How many at most, up to 200." default:"50"`
	Cursor string `help:"Go on where a page ended: its next_cursor." placeholder:"CURSOR"`
}

// Validate refuses what no page can hold.
func (p paged) Validate() error {
	return firstWrong(rule{p.Limit >= 1 && p.Limit <= maxLimit, fmt.Sprintf("--limit must be 1 to %d", maxLimit)})
}

// query builds the query of this page: names and values in turn.
func (p paged) query(pairs ...string) url.Values {
	return query(append(pairs, "limit", fmt.Sprint(p.Limit), "cursor", p.Cursor)...)
}

// query makes a query of names and values in turn; what is empty is left out.
func query(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

// readDocument reads a file, or standard input for "-", in any syntax that
// definitions are written in, and returns it as JSON.
func readDocument(path string) ([]byte, error) {
	if path == "-" {
		source, err := io.ReadAll(os.Stdin)
		if err != nil {
			return nil, err
		}
		return definition.PlainJSON(source)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	plain, err := definition.PlainJSON(source)
	if err != nil {
		return nil, rondo.Op(path, err)
	}
	return plain, nil
}
