package fakegpu

import (
	"slices"
	"strings"
	"testing"

	"gaugeblock/spec"
)

func refused(t *testing.T, what string, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v, want an error with %q", what, err, words)
	}
}

func logged(t *testing.T, g *GPU, s spec.Stream) LoggedStream {
	t.Helper()
	found, err := g.LoggedStream(0, s)
	must(t, err)
	return found
}

func newStream(t *testing.T, g *GPU) spec.Stream {
	t.Helper()
	s, err := g.CreateStream(0)
	must(t, err)
	return s
}

// TestGapsOfRanges: a range is placed in a gap that is just large enough.
func TestGapsOfRanges(t *testing.T) {
	r := newRealLike(0)
	var at [3]spec.Ptr
	for i := range at {
		at[i] = r.PlaceRange(realRangeStep)
	}
	r.VacateRange(at[1], realRangeStep)
	if got := r.PlaceRange(realRangeStep + 1); got <= at[2] {
		t.Errorf("a range that is too large for the gap is at %v", got)
	}
	if got := r.PlaceRange(realRangeStep); got != at[1] {
		t.Errorf("the range is at %v, and the gap at %v", got, at[1])
	}
}

// TestChoicesOfRanges: a range that the script has not been told may lie behind the highest range,
// or before the lowest.
func TestChoicesOfRanges(t *testing.T) {
	const step = spec.Ptr(rangeAlignment)
	var got Choice
	s := &Script{
		held:   []spec.Range{{Ptr: 4 * step, Bytes: 1}, {Ptr: 8 * step, Bytes: 2 * rangeAlignment}},
		vacant: func(spec.Range) bool { return true },
		choose: func(c Choice) spec.Ptr { got = c; return c.Candidates[0] },
	}
	if base := s.nextBase(rangeAlignment + 1); base != 10*step {
		t.Errorf("the base is %v", base)
	}
	if want := []spec.Ptr{10 * step, 2 * step}; !slices.Equal(got.Candidates, want) || !got.Reserve {
		t.Errorf("the candidates are %v, want %v", got.Candidates, want)
	}
}
