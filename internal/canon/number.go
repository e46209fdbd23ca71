package canon

import (
	"math"
	"strconv"
)

const (
	maxSafe       = 1<<53 - 1
	maxSafeDigits = "9007199254740991"
	// exactDigits is how many digits are always safe, whatever they are.
	exactDigits = len(maxSafeDigits) - 1
	// exponentFrom is where RFC 8785 begins to write exponents: smaller numbers
	// that are whole are written as integers.
	exponentFrom = 1e21
)

// number reads a number; the position is at its first byte. It refuses what
// would not survive canonical form: numbers too large for a 64-bit float, and
// whole numbers beyond ±(2^53−1), however they are written.
func (s *scanner) number() *Error {
	start := s.pos
	if s.raw[s.pos] == '-' {
		s.pos++
	}
	whole := s.digits()
	if whole == 0 {
		return s.fail(s.pos, "a digit must follow the minus sign")
	}
	if whole > 1 && s.raw[s.pos-whole] == '0' {
		return s.fail(start, "a number does not begin with a needless 0")
	}
	digits := s.raw[s.pos-whole : s.pos]
	integer, plain := true, true
	if s.pos < len(s.raw) && s.raw[s.pos] == '.' {
		integer = false
		s.pos++
		if s.digits() == 0 {
			return s.fail(s.pos, "a digit must follow the decimal point")
		}
	}
	if s.pos < len(s.raw) && s.raw[s.pos]|0x20 == 'e' {
		integer, plain = false, false
		s.pos++
		if s.pos < len(s.raw) && (s.raw[s.pos] == '+' || s.raw[s.pos] == '-') {
			s.pos++
		}
		if s.digits() == 0 {
			return s.fail(s.pos, "a digit must follow the exponent sign")
		}
	}
	if plain && whole <= exactDigits {
		return nil
	}
	if integer {
		if whole > len(maxSafeDigits) || string(digits) > maxSafeDigits {
			return s.fail(start, unsafeInteger)
		}
		return nil
	}
	value, err := strconv.ParseFloat(string(s.raw[start:s.pos]), 64)
	if err != nil {
		return s.fail(start, "the number is too large: it must fit a 64-bit float")
	}
	if size := math.Abs(value); size > maxSafe && size < exponentFrom {
		return s.fail(start, unsafeInteger)
	}
	return nil
}

const unsafeInteger = "whole numbers beyond ±9007199254740991 lose digits: send it as a string"

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.raw) && '0' <= s.raw[s.pos] && s.raw[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}
