package fit

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"gaugeblock/tools/run"
)

// A Try is one run of the program.
type Try struct {
	Value         int         `json:"value"`
	Fits          bool        `json:"fits"`
	PeakReserved  uint64      `json:"peak_reserved"` // bytes; until the failure, if it does not fit
	PeakAllocated uint64      `json:"peak_allocated"`
	Failed        int         `json:"failed_requests,omitempty"` // for want of memory, after which the program went on
	At            string      `json:"at,omitempty"`              // the line at which memory ran out
	InPieces      bool        `json:"in_pieces,omitempty"`       // then there was enough of it, but not in one piece
	Asked         uint64      `json:"asked,omitempty"`           // bytes, in the request with which it ran out
	Seconds       float64     `json:"seconds"`
	ran           *run.Result // nil: it was not a run
}

// errInterrupted ends a search whose answer so far is wanted.
var errInterrupted = errors.New("interrupted")

// search is a bisection. Below low everything counts as fitting, and above high nothing.
type search struct {
	low, high int
	room      uint64 // bytes that the allocator can have, for guesses
	try       func(value int) (Try, error)

	tried   map[int]Try
	points  []Try // that fit, also those of other GPUs
	guesses int   // since the bracket was last halved
}

// mostBrackets is how often a search goes on above a value that fits though a smaller one does not.
const mostBrackets = 3

// run fills tried until neighbours are known of which one fits and the larger does not.
func (s *search) run() error {
	if s.tried == nil {
		s.tried = map[int]Try{}
	}
	from := s.low - 1
	for range mostBrackets {
		fits, full, err := s.bisect(from)
		if err != nil {
			return err
		}
		for _, beside := range []int{fits - 1, full + 1} {
			if _, err := s.at(beside); err != nil {
				return err
			}
		}
		if from = s.largest(); from <= full {
			return nil
		}
	}
	return nil
}

// bisect looks between a value that fits, and the next known one that does not.
func (s *search) bisect(fits int) (int, int, error) {
	full := s.high + 1
	for value, t := range s.tried {
		if !t.Fits && value > fits {
			full = min(full, value)
		}
	}
	for full-fits > 1 {
		value := s.next(fits, full)
		t, err := s.at(value)
		switch {
		case err != nil:
			return 0, 0, err
		case t.Fits:
			fits = value
		default:
			full = value
		}
	}
	return fits, full, nil
}

// at runs the program with a value, unless it has run with it before, or the value is out of range.
func (s *search) at(value int) (Try, error) {
	if t, known := s.tried[value]; known || value < s.low || value > s.high {
		return t, nil
	}
	t, err := s.try(value)
	if err != nil {
		return t, err
	}
	s.tried[value] = t
	if t.Fits {
		s.points = append(s.points, t)
	}
	return t, nil
}

// next is a value between two others: the ends of the range first, so that a wrong range is noticed
// early, then twice what the peaks so far let expect, and then one in the middle.
func (s *search) next(fits, full int) int {
	_, lowKnown := s.tried[s.low]
	switch {
	case len(s.points) == 0 && !lowKnown:
		return s.low
	case len(s.points) == 1 && full > s.high:
		return s.high
	}
	points := s.pointsBelow(full)
	if s.guesses < 2 {
		if value := s.guess(points); value < full {
			s.guesses++
			return max(value, fits+1)
		}
	}
	s.guesses = 0
	if len(points) > 0 {
		fits = max(fits, points[len(points)-1].Value) // on a smaller GPU, or known before
	}
	return between(fits, full)
}

// pointsBelow are the values below another one that are known to fit, on some GPU, in their order.
func (s *search) pointsBelow(full int) []Try {
	points := slices.SortedFunc(slices.Values(s.points), func(a, b Try) int { return cmp.Compare(a.Value, b.Value) })
	points = slices.CompactFunc(points, func(a, b Try) bool { return a.Value == b.Value })
	return slices.DeleteFunc(points, func(t Try) bool { return t.Value >= full })
}

// guess is the value with which the peak would be all the room if it grew as between the last two
// points, and math.MaxInt if that cannot be said.
func (s *search) guess(points []Try) int {
	if len(points) < 2 {
		return math.MaxInt
	}
	a, b := points[len(points)-2], points[len(points)-1]
	if b.PeakReserved <= a.PeakReserved {
		return math.MaxInt
	}
	slope := float64(b.PeakReserved-a.PeakReserved) / float64(b.Value-a.Value)
	value := float64(b.Value) + (float64(s.room)-float64(b.PeakReserved))/slope
	return int(min(max(value, float64(s.low)), float64(s.high)))
}

// between is the geometric mean, since the right batch is seldom near the end of a wide range.
func between(fits, full int) int {
	mean := int(math.Sqrt(float64(max(fits, 1)) * float64(full)))
	return min(max(mean, fits+1), full-1)
}

// largest is the largest value that was tried and fits, or low-1.
func (s *search) largest() int {
	largest := s.low - 1
	for value, t := range s.tried {
		if t.Fits {
			largest = max(largest, value)
		}
	}
	return largest
}
