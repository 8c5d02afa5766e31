package settings

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// How the words of a settings string are read as values. Upstream reads numbers
// with C++'s stoull and stod, which are content with a number at the front
// ("100abc" is 100). Here the whole word must be the number.

// unsigned reads a whole number in decimal. As in C++ it may have a sign, and a
// minus wraps around: -1 is 2^64-1. People write -1 for "unlimited".
func (s setting) unsigned(t token) (uint64, error) {
	digits, negative := strings.CutPrefix(t.text, "-")
	if !negative {
		digits = strings.TrimPrefix(digits, "+")
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, s.refuse(t, "must be below 2^64")
	case err != nil:
		return 0, s.refuse(t, "must be a whole number")
	case negative:
		return -n, nil
	}
	return n, nil
}

// mebibytes reads a size in units of g.MiB and gives it in bytes, the largest
// multiple of the unit if it is beyond what 64 bits hold.
func (s setting) mebibytes(g spec.Geometry) (uint64, error) {
	n, err := s.unsigned(s.value)
	return min(n, math.MaxUint64/g.MiB) * g.MiB, err
}

// wholeMebibytes is how many g.MiB it takes to hold bytes.
func wholeMebibytes(bytes uint64, g spec.Geometry) uint64 {
	n := bytes / g.MiB
	if bytes%g.MiB != 0 {
		n++
	}
	return n
}

// number reads a decimal number. One that is too large for a float64 becomes an
// infinity, which the bounds of every key refuse; one that is too small for a
// normal float64 is refused here.
func (s setting) number() (float64, error) {
	text := s.value.text
	f, err := strconv.ParseFloat(text, 64)
	// ParseFloat also knows hexadecimal, underscores, "inf" and "nan".
	plain := strings.Trim(text, "+-.0123456789eE") == ""
	if !plain || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, s.refuse(s.value, "must be a decimal number")
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	if math.Abs(f) < smallestNormal && strings.ContainsAny(mantissa, "123456789") {
		return 0, s.refuse(s.value, "must not be that close to 0")
	}
	return f + 0, nil // makes -0 a plain 0
}

// smallestNormal is the smallest positive float64 of full precision.
const smallestNormal = 0x1p-1022

// boolean reads True or False, spelled as in Python.
func (s setting) boolean() (bool, error) {
	switch s.value.text {
	case "True":
		return true, nil
	case "False":
		return false, nil
	}
	return false, s.refuse(s.value, "must be True or False")
}
