package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// maxPacket is when a packet is sent although more is to come, on servers that
// take that much.
const maxPacket = 6 << 20

// packetSlack is how much of the server's limit is left for the driver's framing.
const packetSlack = 1 << 10

// packet collects statements for as few round trips as the server's limit allows.
type packet struct {
	conn  *sql.Conn
	limit int // the longest text that the server takes
	want  int // the length at which a text is sent
	text  []byte
	// ends are where statements end. The driver reports an insert id for each, 0
	// for those that answer with rows.
	ends    []int
	numbers []numbering
}

// numbering wants the insert id of one statement.
type numbering struct {
	answer int
	got    func(id int64)
}

// newPacket is empty. limit is the server's max_allowed_packet.
func newPacket(conn *sql.Conn, limit int64) packet {
	longest := max(int(limit)-packetSlack, 1)
	return packet{conn: conn, limit: longest, want: min(maxPacket, longest)}
}

// statement ends a statement that was appended to text.
func (p *packet) statement() {
	p.text = append(p.text, ';')
	p.ends = append(p.ends, len(p.text))
}

func (p *packet) add(s string) { p.text = append(p.text, s...) }

// numbered asks for the insert id of the statement that ended last.
func (p *packet) numbered(got func(id int64)) {
	p.numbers = append(p.numbers, numbering{len(p.ends) - 1, got})
}

// full sends what is there when more would be too much.
func (p *packet) full(ctx context.Context) error {
	if len(p.text) < p.want {
		return nil
	}
	return p.send(ctx)
}

// send runs the collected statements, in several round trips when they are
// longer than the server takes. The first that fails ends them; one that alone
// is too long is refused before any is sent.
func (p *packet) send(ctx context.Context) error {
	start := 0
	for _, end := range p.ends {
		if end-start > p.limit {
			return sqlstore.TooLarge("mysql: update", fmt.Errorf("a statement of %d bytes: max_allowed_packet allows %d", end-start, p.limit))
		}
		start = end
	}
	ids := make([]int64, 0, len(p.ends))
	start = 0
	for first := 0; first < len(p.ends); {
		next := first + 1
		for next < len(p.ends) && p.ends[next]-start <= p.limit {
			next++
		}
		answers, err := p.run(ctx, string(p.text[start:p.ends[next-1]]))
		if err != nil {
			return err
		}
		if len(answers) != next-first {
			return fmt.Errorf("%d of %d statements of a packet answered", len(answers), next-first)
		}
		ids = append(ids, answers...)
		first, start = next, p.ends[next-1]
	}
	for _, n := range p.numbers {
		n.got(ids[n.answer])
	}
	p.text, p.ends, p.numbers = p.text[:0], p.ends[:0], nil
	return nil
}

// run sends one text and returns the insert ids of its statements.
func (p *packet) run(ctx context.Context, text string) (ids []int64, err error) {
	err = p.conn.Raw(func(c any) error {
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
		ids = all.AllLastInsertIds()
		return nil
	})
	return ids, err
}

// insert appends a multi-row INSERT, in several statements when it is long.
// after, if not nil, is called when the statement of the rows from up to to has
// been appended.
func (p *packet) insert(ctx context.Context, head string, rows [][]any, tail string, after func(from, to int)) error {
	for from := 0; from < len(rows); {
		start := len(p.text)
		p.add(head)
		to := from
		for ; to < len(rows); to++ {
			before := len(p.text)
			if to > from {
				p.text = append(p.text, ',')
			}
			p.text = append(p.text, '(')
			p.text = appendRow(p.text, rows[to])
			p.text = append(p.text, ')')
			if to > from && len(p.text)+len(tail)-start >= p.want {
				p.text = p.text[:before]
				break
			}
		}
		p.add(tail)
		p.statement()
		if after != nil {
			after(from, to)
		}
		if from = to; from < len(rows) {
			if err := p.full(ctx); err != nil {
				return err
			}
		}
	}
	return p.full(ctx)
}
