package mysql

import (
	"strconv"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// Packets are written here and not by the driver, which interpolates one
// statement at a time. Everything variable goes through appendValue; the escapes
// are those of a session without NO_BACKSLASH_ESCAPES, which setup makes sure of.

// afterBase is a number counted from @rondo_base.
type afterBase int64

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	case string:
		return appendQuoted(b, v)
	case []byte:
		return appendQuoted(b, v)
	case afterBase:
		return strconv.AppendInt(append(b, "@rondo_base + "...), int64(v), 10)
	default:
		return append(b, "NULL"...)
	}
}

// appendQuoted writes a binary string.
func appendQuoted[T string | []byte](b []byte, s T) []byte {
	b = append(b, "_binary'"...)
	from := 0
	for i := range len(s) {
		var escape byte
		switch s[i] {
		case 0:
			escape = '0'
		case '\'', '\\':
			escape = s[i]
		case 0x1a:
			escape = 'Z'
		default:
			continue
		}
		b = append(b, s[from:i]...)
		b = append(b, '\\', escape)
		from = i + 1
	}
	b = append(b, s[from:]...)
	return append(b, '\'')
}

func appendRow(b []byte, row []any) []byte {
	for i, v := range row {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, v)
	}
	return b
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// appendKeys writes a condition that holds for exactly the given pairs, as one
// IN list per org: the form that both optimisers turn into index ranges. Keys
// must come sorted by org.
func appendKeys[K any](b []byte, orgColumn, column string, keys []K, org func(K) string, value func(K) any) []byte {
	b = append(b, '(')
	for i := 0; i < len(keys); {
		if i > 0 {
			b = append(b, " OR "...)
		}
		this := org(keys[i])
		b = append(b, '(')
		b = append(b, orgColumn...)
		b = append(b, '=')
		b = appendQuoted(b, this)
		b = append(b, " AND "...)
		b = append(b, column...)
		b = append(b, " IN ("...)
		for first := true; i < len(keys) && org(keys[i]) == this; i++ {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = appendValue(b, value(keys[i]))
		}
		b = append(b, "))"...)
	}
	return append(b, ')')
}

func appendCases(b []byte, prefix string, keys []rondo.CaseKey) []byte {
	return appendKeys(b, prefix+"org_id", prefix+"case_id", keys,
		func(k rondo.CaseKey) string { return k.OrgID }, func(k rondo.CaseKey) any { return k.CaseID })
}

func appendEvents(b []byte, prefix string, keys []rondo.EventKey) []byte {
	return appendKeys(b, prefix+"org_id", prefix+"event_id", keys,
		func(k rondo.EventKey) string { return k.OrgID }, func(k rondo.EventKey) any { return sqlstore.ID(k.EventID) })
}

// appendHeld writes a condition that holds for exactly the given writes of
// instances. It is one list of strings because the server searches that by
// halves.
func appendHeld(b []byte, held []sqlstore.Held) []byte {
	b = append(b, "CONCAT(id, version, ':', token) IN (NULL"...)
	for _, h := range held {
		if h.Instance != nil {
			b = append(b, ',')
			version := append(strconv.AppendInt(h.ID[:], h.Version, 10), ':')
			b = appendQuoted(b, strconv.AppendInt(version, h.Token, 10))
		}
	}
	return append(b, ')')
}

// texts are the fixed parts of the statements.
type texts struct {
	instances      [3]string // around the condition for documents that are held, twice
	parked         string
	insert         map[string]string // by table, up to VALUES
	replace, merge string            // around the rows of instances
}

func newTexts(t *sqlstore.Tables) *texts {
	x := &texts{
		parked: "SELECT " + t.Events.Names("e.") + " FROM parked p JOIN events e ON e.org_id = p.org_id AND e.event_id = p.event_id WHERE ",
		insert: map[string]string{},
	}
	const mark = "?"
	copy(x.instances[:], strings.Split("SELECT "+sqlstore.HeldColumns(&t.Instances, "", mark)+" FROM instances WHERE ", mark))
	for _, table := range []*sqlstore.Table{&t.Instances, &t.Steps, &t.Events, &t.Parked, &t.Outbox, &t.Log, &t.Interventions, &t.DeadLetters, &t.Attributes, &t.Loose, &t.JobResults} {
		x.insert[table.Name] = "INSERT INTO " + table.Name + " (" + table.Names("") + ") VALUES "
	}
	x.replace = "INSERT INTO instances (previous, " + t.Instances.Names("") + ") VALUES "
	// Assignments run from left to right, so version, which the guard reads, is
	// the last one: tables list it last.
	var set strings.Builder
	for _, c := range t.Instances.Columns[sqlstore.MutableFrom:] {
		if c.Name != "version" {
			set.WriteString(c.Name + " = VALUES(" + c.Name + "), ")
		}
	}
	x.merge = " ON DUPLICATE KEY UPDATE " + set.String() +
		"version = IF(id = VALUES(id) AND case_id = VALUES(case_id) AND org_id = VALUES(org_id) AND version = VALUES(previous), VALUES(version), NULL)"
	return x
}
