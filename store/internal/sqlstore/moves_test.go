package sqlstore

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

// A field that is written with the fixed part of a row and not compared would be
// lost when it changes.
func TestAMoveChangesNothingButTheMovingColumns(t *testing.T) {
	moving := []string{"Context", "Version", "Machine", "WakeAt"}
	key := []string{"ID", "OrgID", "CaseID"}
	kind := reflect.TypeFor[rondo.Instance]()
	for i := range kind.NumField() {
		field := kind.Field(i)
		before, after := rondo.Instance{}, rondo.Instance{}
		change(t, reflect.ValueOf(&after).Elem().Field(i))
		want := slices.Contains(moving, field.Name) || slices.Contains(key, field.Name)
		if got := moves(&before, &after); got != want {
			t.Errorf("a change of %s counts as a move: %v, want %v", field.Name, got, want)
		}
	}
	if name := NewTables().Instances.Columns[MovingFrom].Name; name != "wake_at" {
		t.Errorf("the moving columns begin with %s, want wake_at", name)
	}
}

func change(t *testing.T, field reflect.Value) {
	t.Helper()
	switch v := field.Addr().Interface().(type) {
	case *string:
		*v = "changed"
	case *bool:
		*v = true
	case *int64:
		*v = 7
	case *rondo.Mode:
		*v = rondo.ModeActive
	case *rondo.Status:
		*v = rondo.StatusHalted
	case *rondo.ID:
		v[0] = 1
	case *time.Time:
		*v = time.Unix(1, 0)
	case *rondo.Context:
		*v = rondo.Context{"a": nil}
	case *rondo.Machine:
		v.Finished = 1
	default:
		t.Fatalf("a field of type %T: teach this test to change it", v)
	}
}
