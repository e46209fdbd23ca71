package sqlstore

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestMigrationsAreReadInOrder(t *testing.T) {
	files := fstest.MapFS{
		"0001_first.sql":  {Data: []byte("CREATE TABLE a (\n  b INTEGER\n);\n\nCREATE INDEX c ON a (b);\n")},
		"0002_second.sql": {Data: []byte("DROP TABLE a;\n")},
		"notes.txt":       {Data: []byte("not a migration")},
	}
	got, err := LoadMigrations(files)
	if err != nil {
		t.Fatal(err)
	}
	want := []Migration{
		{1, "first", []string{"CREATE TABLE a (\n  b INTEGER\n)", "CREATE INDEX c ON a (b)"}},
		{2, "second", []string{"DROP TABLE a"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("migrations differ (-want +got):\n%s", diff)
	}
}

func TestMigrationsWithAGapAreRefused(t *testing.T) {
	for _, name := range []string{"0002_second.sql", "first.sql", "x001_first.sql"} {
		if _, err := LoadMigrations(fstest.MapFS{name: {Data: []byte("SELECT 1;\n")}}); err == nil {
			t.Errorf("%s alone was accepted", name)
		}
	}
}

func TestParametersAreNumberedWhereTheDatabaseWantsIt(t *testing.T) {
	const query = "SELECT a FROM b WHERE c = ? AND d IN (?, ?)"
	if got, want := (&Dialect{Numbered: true}).bind(query), "SELECT a FROM b WHERE c = $1 AND d IN ($2, $3)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (&Dialect{}).bind(query); got != query {
		t.Errorf("got %s, want it unchanged", got)
	}
}
