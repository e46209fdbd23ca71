package definition

import (
	"cmp"
	"strings"
)

// CompareSemver orders two versions of runs by the precedence of semver.org:
// negative when a is lower. What follows a plus sign does not count.
func CompareSemver(a, b string) int {
	a, _, _ = strings.Cut(a, "+")
	b, _, _ = strings.Cut(b, "+")
	aCore, aPre, aIsPre := strings.Cut(a, "-")
	bCore, bPre, bIsPre := strings.Cut(b, "-")
	if c := compareIdentifiers(aCore, bCore); c != 0 {
		return c
	}
	switch {
	case aIsPre && bIsPre:
		return compareIdentifiers(aPre, bPre)
	case aIsPre:
		return -1
	case bIsPre:
		return 1
	}
	return 0
}

// compareIdentifiers orders dotted identifiers: numbers by value and below words,
// words bytewise, and more of them above fewer.
func compareIdentifiers(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		if c := compareIdentifier(as[i], bs[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

func compareIdentifier(a, b string) int {
	switch aIs, bIs := isNumber(a), isNumber(b); {
	case aIs && bIs: // without leading zeros the longer one is the larger
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case aIs:
		return -1
	case bIs:
		return 1
	}
	return cmp.Compare(a, b)
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
