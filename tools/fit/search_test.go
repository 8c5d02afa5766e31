package fit

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The largest value that fits is found, in no more runs than a bisection needs with a guess or two
// for each of its steps, however the peak grows.
func TestSearchIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.IntRange(0, 50).Draw(t, "low")
		high := rapid.IntRange(low, low+2000).Draw(t, "high")
		largest := rapid.IntRange(low-1, high).Draw(t, "largest")
		power := rapid.IntRange(0, 2).Draw(t, "power")
		peak := func(value int) uint64 {
			p := uint64(1000)
			for range power {
				p *= uint64(value + 1)
			}
			return p + uint64(value%3)
		}
		tries := 0
		s := &search{low: low, high: high, room: peak(largest + 1), try: func(value int) (Try, error) {
			tries++
			return Try{Value: value, Fits: value <= largest, PeakReserved: peak(value)}, nil
		}}
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		a := s.answer()
		if got := s.largest(); got != largest || !a.Sure || len(a.Exceptions) > 0 || (a.Largest == nil) != (largest < low) {
			t.Errorf("found %d and %+v, not %d", got, a, largest)
		}
		if tries > 40 {
			t.Errorf("%d runs", tries)
		}
	})
}

// A peak that grows with the value is known after two runs: five find the largest of 512 values,
// and two more try its neighbours.
func TestSearchGuesses(t *testing.T) {
	var tried []int
	s := &search{low: 1, high: 512, room: 1000 + 37*10 + 5, try: func(value int) (Try, error) {
		tried = append(tried, value)
		return Try{Value: value, Fits: value <= 37, PeakReserved: 1000 + uint64(value)*10}, nil
	}}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 512, 22, 37, 38, 36, 39}; !slices.Equal(tried, want) {
		t.Errorf("tried %v, not %v", tried, want)
	}
	// What is known of one GPU is used for the next.
	next := &search{low: 1, high: 512, room: 1000 + 91*10, points: s.points, try: func(value int) (Try, error) {
		return Try{Value: value, Fits: value <= 91, PeakReserved: 1000 + uint64(value)*10}, nil
	}}
	if err := next.run(); err != nil || next.largest() != 91 || len(next.tried) != 4 {
		t.Errorf("%d after %d runs, %v", next.largest(), len(next.tried), err)
	}
}

// If the value above the one that does not fit does fit, the search goes on there, and says so.
func TestSearchNotMonotone(t *testing.T) {
	s := &search{low: 1, high: 100, room: 1 << 40, try: func(value int) (Try, error) {
		return Try{Value: value, Fits: value <= 40 && value != 21, PeakReserved: uint64(value)}, nil
	}}
	s.tried = map[int]Try{21: {Value: 21}, 20: {Value: 20, Fits: true}}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	if a := s.answer(); *a.Largest != 40 || !a.Sure || !slices.Equal(a.Exceptions, []int{21}) {
		t.Errorf("%+v", a)
	}
}

// TestSearchFailsBeside: that the neighbours of the answer cannot be tried is an error too.
func TestSearchFailsBeside(t *testing.T) {
	for _, beside := range []int{3, 6} {
		s := &search{low: 1, high: 9, tried: map[int]Try{4: {Value: 4, Fits: true}, 5: {Value: 5}}, try: func(value int) (Try, error) {
			if value == beside {
				return Try{}, errInterrupted
			}
			return Try{Value: value, Fits: value < 5}, nil
		}}
		if err := s.run(); !errors.Is(err, errInterrupted) || len(s.tried) > 6 {
			t.Errorf("%d: %v, %v", beside, err, s.tried)
		}
	}
}

func TestSearchEndsWithAnError(t *testing.T) {
	s := &search{low: 1, high: 100, try: func(value int) (Try, error) {
		if value > 1 {
			return Try{}, errInterrupted
		}
		return Try{Value: value, Fits: true}, nil
	}}
	if err := s.run(); !errors.Is(err, errInterrupted) {
		t.Error(err)
	}
	if a := s.answer(); a.Sure || *a.Largest != 1 {
		t.Errorf("%+v", a)
	}
}

// TestSearchRunsOnce: no value is tried twice, or out of the range.
func TestSearchRunsOnce(t *testing.T) {
	var tried []int
	s := &search{low: 1, high: 9, tried: map[int]Try{}, try: func(value int) (Try, error) {
		tried = append(tried, value)
		return Try{Value: value, Fits: value < 5}, nil
	}}
	for _, value := range []int{1, 9, 0, 10, 9, 1} {
		got, err := s.at(value)
		if want := (Try{Value: value, Fits: value < 5}); err != nil || value >= s.low && value <= s.high && got != want {
			t.Errorf("%d: %+v, %v", value, got, err)
		}
	}
	if !slices.Equal(tried, []int{1, 9}) || len(s.points) != 1 {
		t.Errorf("tried %v, of which %d fit", tried, len(s.points))
	}
}

// TestSearchGuess: what two GPUs say of one value counts once, and the two largest values below say how the peak grows.
func TestSearchGuess(t *testing.T) {
	s := &search{low: 1, high: 100, room: 1300}
	for _, c := range []struct {
		value int
		peak  uint64
		guess int
	}{{10, 1100, math.MaxInt}, {10, 1100, math.MaxInt}, {20, 1200, 30}, {20, 1210, 30}, {5, 1000, 30}, {40, 1200, math.MaxInt}, {60, 1201, 100}} {
		s.points = append(s.points, Try{Value: c.value, PeakReserved: c.peak})
		if got := s.guess(s.pointsBelow(100)); got != c.guess {
			t.Errorf("after %d: %d, not %d", c.value, got, c.guess)
		}
	}
	if got := s.pointsBelow(40); len(got) != 3 || got[2].Value != 20 {
		t.Errorf("below 40: %v", got)
	}
}

// TestSearchOrder: which values are tried, one after the other.
func TestSearchOrder(t *testing.T) {
	steps := func(value int) uint64 { return 1000 + uint64(value/100)*10 }
	for name, c := range map[string]struct {
		largest int
		except  []int
		peak    func(value int) uint64
		want    []int
	}{
		"the peak does not grow":      {37, nil, func(int) uint64 { return 1000 }, []int{1, 512, 22, 106, 48, 32, 39, 35, 36, 37, 38}},
		"the peak grows in steps":     {300, nil, steps, []int{1, 512, 22, 106, 274, 442, 348, 308, 290, 298, 302, 299, 300, 301}},
		"nothing fits":                {0, nil, steps, []int{1, 2}},
		"all fit":                     {512, nil, steps, []int{1, 512, 511}},
		"one of those below does not": {300, []int{37, 106}, steps, []int{1, 512, 22, 106, 48, 71, 86, 95, 100, 102, 103, 104, 105, 107, 234, 361, 290, 323, 306, 297, 301, 298, 299, 300, 302}},
	} {
		var tried []int
		s := &search{low: 1, high: 512, room: 1030, try: func(value int) (Try, error) {
			tried = append(tried, value)
			return Try{Value: value, Fits: value <= c.largest && !slices.Contains(c.except, value), PeakReserved: c.peak(value)}, nil
		}}
		if err := s.run(); err != nil || !slices.Equal(tried, c.want) {
			t.Errorf("%s: tried %#v, not %v, %v", name, tried, c.want, err)
		}
	}
}
