package cond

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// SampleUnit is where a case falls in [0,1) for one step of one definition: the
// first 8 bytes, big-endian, of SHA-256("case:definition:step") over 2^64.
// sample(p) is true iff it is below p, so the same case always decides alike.
func SampleUnit(caseID, definitionID, stepID string) float64 {
	sum := sha256.Sum256([]byte(caseID + ":" + definitionID + ":" + stepID))
	unit := float64(binary.BigEndian.Uint64(sum[:8])) / (1 << 64)
	return min(unit, math.Nextafter(1, 0)) // the topmost values round to 1, which sample(1) must still include
}
