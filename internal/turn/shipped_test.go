package turn

import "testing"

func TestShippedDefinitionsCompileWithoutAWarning(t *testing.T) {
	for _, name := range []string{"default", "payment"} {
		d, err := ShippedDefinition(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if warnings := d.Check(); len(warnings) > 0 {
			t.Errorf("%s has warnings: %v", name, warnings)
		}
		if d.Name != name {
			t.Errorf("%s is called %s", name, d.Name)
		}
	}
	if len(Shipped()) != 2 {
		t.Errorf("there are %d shipped definitions", len(Shipped()))
	}
}
