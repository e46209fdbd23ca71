package definition

import "testing"

func TestVersionsOfRunsHaveTheOrderOfSemver(t *testing.T) {
	t.Parallel()
	rising := []string{
		"0.0.1", "0.9.0", "0.10.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
		"1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0-0", "2.0.0", "99999999999999999999.0.0", "100000000000000000000.0.0",
	}
	for i, a := range rising {
		if !semver.MatchString(a) {
			t.Fatalf("%s is no version", a)
		}
		for j, b := range rising {
			got := CompareSemver(a, b)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("CompareSemver(%s, %s) = %d", a, b, got)
			}
		}
	}
	if CompareSemver("1.0.0+a", "1.0.0+b.2") != 0 {
		t.Error("what a build is called counts")
	}
}
