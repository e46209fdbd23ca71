package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rondo-engine/rondo/client"
)

// table prints rows in columns. The first row is the heading.
func table(w io.Writer, rows [][]string) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = oneCell.Replace(cell)
		}
		if _, err := fmt.Fprintln(columns, strings.TrimRight(strings.Join(row, "\t"), "\t")); err != nil {
			return err
		}
	}
	return columns.Flush()
}

var oneCell = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")

// details prints what is known of one thing: names and values in turn. What is
// absent is left out.
func details(w io.Writer, pairs ...string) error {
	var rows [][]string
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := pairs[i+1]; value != "" && value != "-" {
			rows = append(rows, []string{pairs[i], value})
		}
	}
	return table(w, rows)
}

// printItems prints the items of a list in columns.
func printItems[T any](s streams, answer json.RawMessage, heading []string, row func(T) []string) error {
	var page client.Page[T]
	if err := json.Unmarshal(answer, &page); err != nil {
		return err
	}
	return printPage(s, page.Items, page.NextCursor, heading, row)
}

// printPage prints one page in columns, and how to see more; next is nil on the
// last one.
func printPage[T any](s streams, items []T, next *string, heading []string, row func(T) []string) error {
	rows := [][]string{heading}
	for _, item := range items {
		rows = append(rows, row(item))
	}
	if err := table(s.out, rows); err != nil || next == nil {
		return err
	}
	_, err := fmt.Fprintf(s.err, "rondo: there are more: --limit %d, or --cursor %s\n", maxLimit, *next)
	return err
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

// printDocument prints JSON as a file: members in the order they have.
func printDocument(w io.Writer, document json.RawMessage, format string) error {
	if format == "json" {
		return printJSON(w, document)
	}
	var node yaml.Node
	if err := yaml.Unmarshal(document, &node); err != nil { // JSON is YAML
		return err
	}
	inBlocks(&node)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return err
	}
	return encoder.Close()
}

// inBlocks gives a document the look of YAML instead of that of JSON. Short lists
// of plain values stay on their line.
func inBlocks(node *yaml.Node) {
	node.Style = 0
	plain := node.Kind == yaml.SequenceNode
	for _, child := range node.Content {
		inBlocks(child)
		plain = plain && child.Kind == yaml.ScalarNode
	}
	if plain && len(node.Content) <= 8 || len(node.Content) == 0 && node.Kind != yaml.ScalarNode {
		node.Style = yaml.FlowStyle
	}
}

func nonNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
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

// span shows how long something takes, in the largest unit that fits.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// ago shows how long ago something was.
func ago(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return span(time.Since(*t)) + " ago"
}
