package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"

	"github.com/go-sql-driver/mysql"
)

// maxPacket is when a packet is sent although more is to come: well below the
// smallest limit that servers are usually given (16 MB).
const maxPacket = 6 << 20

// packet collects statements for one round trip.
type packet struct {
	conn *sql.Conn
	text []byte
	// answers is how many statements there are so far; the driver reports an
	// insert id for each, 0 for those that answer with rows.
	answers int
	numbers []numbering
}

// numbering wants the insert id of one statement.
type numbering struct {
	answer int
	got    func(id int64)
}

// statement ends a statement that was appended to text.
func (p *packet) statement() {
	p.text = append(p.text, ';')
	p.answers++
}

// query ends a statement that answers with rows.
func (p *packet) query() { p.statement() }

func (p *packet) add(s string) { p.text = append(p.text, s...) }

// numbered asks for the insert id of the statement that ended last.
func (p *packet) numbered(got func(id int64)) {
	p.numbers = append(p.numbers, numbering{p.answers - 1, got})
}

// full sends what is there when more would be too much.
func (p *packet) full(ctx context.Context) error {
	if len(p.text) < maxPacket {
		return nil
	}
	return p.send(ctx)
}

// send runs the collected statements. The first that fails ends them.
func (p *packet) send(ctx context.Context) error {
	text := string(p.text)
	err := p.conn.Raw(func(c any) error {
		execer, ok := c.(sqldriver.ExecerContext)
		if !ok {
			return fmt.Errorf("connection is %T", c)
		}
		result, err := execer.ExecContext(ctx, text, nil)
		if err != nil {
			return err
		}
		all, ok := result.(mysql.Result)
		if !ok {
			return fmt.Errorf("result is %T", result)
		}
		ids := all.AllLastInsertIds()
		for _, n := range p.numbers {
			if n.answer >= len(ids) {
				return fmt.Errorf("%d statements answered, %d expected", len(ids), p.answers)
			}
			n.got(ids[n.answer])
		}
		return nil
	})
	p.text, p.answers, p.numbers = p.text[:0], 0, nil
	return err
}

// insert appends a multi-row INSERT, in several statements when it is long.
// numbered, if not nil, gets the first id of each statement and the rows of it.
func (p *packet) insert(ctx context.Context, head string, rows [][]any, tail string, numbered func(from, to int, id int64)) error {
	for from := 0; from < len(rows); {
		p.add(head)
		to := from
		for ; to < len(rows) && (to == from || len(p.text) < maxPacket); to++ {
			if to > from {
				p.text = append(p.text, ',')
			}
			p.text = append(p.text, '(')
			p.text = appendRow(p.text, rows[to])
			p.text = append(p.text, ')')
		}
		p.add(tail)
		p.statement()
		if numbered != nil {
			first := from
			p.numbered(func(id int64) { numbered(first, to, id) })
		}
		if from = to; from < len(rows) {
			if err := p.send(ctx); err != nil {
				return err
			}
		}
	}
	return p.full(ctx)
}
