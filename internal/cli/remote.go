package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/internal/definition"
)

// remote is how commands reach a server, and how they print its answers.
type remote struct {
	Server string `help:"Address of the server. Default: http://127.0.0.1:3006." default:"http://127.0.0.1:3006" env:"RONDO_SERVER" placeholder:"URL"`
	Token  string `help:"Bearer token. A server of rondo dev needs none." env:"RONDO_TOKEN" placeholder:"TOKEN"`
	Org    string `help:"Act for this organisation; only an admin may name another than their own." env:"RONDO_ORG" placeholder:"ORG"`
	Output string `short:"o" enum:"table,json" default:"table" help:"How to print: table or json."`
}

func (r remote) client() (*client.Client, error) {
	return client.New(client.Config{BaseURL: r.Server, Token: r.Token, OrgID: r.Org})
}

func (r remote) json() bool { return r.Output == "json" }

// table prints rows in columns. The first row is the heading.
func table(w io.Writer, rows [][]string) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(cell)
		}
		if _, err := fmt.Fprintln(columns, strings.TrimRight(strings.Join(row, "\t"), "\t")); err != nil {
			return err
		}
	}
	return columns.Flush()
}

// orDash shows that something is absent.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// moment shows a time to the second, in UTC.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

func maybeMoment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return moment(*t)
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

// printJSON prints anything as indented JSON.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// printList prints a whole list in the shape that lists of the API have.
func printList[T any](w io.Writer, items []T) error {
	return printJSON(w, client.Page[T]{Items: nonNil(items)})
}

func nonNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
