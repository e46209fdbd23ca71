package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// columnsOf turns rows into one array per column.
func columnsOf(t *sqlstore.Table, rows [][]any) []any {
	columns := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		switch c.Kind {
		case sqlstore.Int:
			columns[i] = column(rows, i, func(v any) pgtype.Int8 {
				n, ok := v.(int64)
				return pgtype.Int8{Int64: n, Valid: ok}
			})
		case sqlstore.Text:
			columns[i] = column(rows, i, func(v any) string {
				s, _ := v.(string)
				return s
			})
		case sqlstore.Bytes:
			columns[i] = column(rows, i, func(v any) []byte {
				b, _ := v.([]byte)
				return b
			})
		case sqlstore.Float:
			columns[i] = column(rows, i, func(v any) pgtype.Float8 {
				n, ok := v.(float64)
				return pgtype.Float8{Float64: n, Valid: ok}
			})
		case sqlstore.UUID:
			columns[i] = column(rows, i, func(v any) pgtype.UUID {
				b, _ := v.([]byte)
				if len(b) != 16 {
					return pgtype.UUID{}
				}
				return pgtype.UUID{Bytes: [16]byte(b), Valid: true}
			})
		}
	}
	return columns
}

// column is a type that the driver encodes without reflection.
func column[T any](rows [][]any, i int, value func(any) T) pgtype.FlatArray[T] {
	values := make(pgtype.FlatArray[T], len(rows))
	for n, row := range rows {
		values[n] = value(row[i])
	}
	return values
}

func uuid(id rondo.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: !id.IsZero()} }

// caseArrays are the parameters of statements about cases.
func caseArrays(keys []rondo.CaseKey) (orgs, cases []string) {
	orgs, cases = make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		orgs[i], cases[i] = key.OrgID, key.CaseID
	}
	return orgs, cases
}
