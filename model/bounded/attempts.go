package bounded

import (
	"errors"
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// attempts are what some steps from one state lead to. Invariants ask which mallocs would
// fail, and Next then takes the same steps: they are computed once.
type attempts struct {
	of      *model.State // nil: none
	mallocs []attempt    // by stream and size
	emptied *model.State // nil: not computed
}

type attempt struct {
	next *model.State // nil: not computed
	err  error
}

// attemptsFrom are the attempts from a state in an arena that a Decoder made; of any other state
// nothing is remembered.
func (c *CachingAllocator) attemptsFrom(s *model.State) *attempts {
	n := len(c.Streams) * len(c.Sizes)
	if known, _ := s.Notes().(*attempts); known != nil {
		if known.of != s {
			*known = attempts{of: s, mallocs: slices.Grow(known.mallocs[:0], n)[:n]}
			clear(known.mallocs)
		}
		return known
	}
	return &attempts{mallocs: make([]attempt, n)}
}

// tryMalloc is a malloc of the i-th stream and the j-th size.
func (c *CachingAllocator) tryMalloc(s *model.State, i, j int) attempt {
	a := &c.attemptsFrom(s).mallocs[i*len(c.Sizes)+j]
	if a.next == nil {
		stream, bytes := c.Streams[i], c.Sizes[j]
		next := s.Copy()
		r := next.MallocInPlace(stream, bytes, model.DriverResults{LowestFrom: AddressBase})
		c.hold(next, r, stream, bytes)
		*a = attempt{next, r.Err}
	}
	return *a
}

// fails reports whether the malloc would fail.
func (a attempt) fails() bool { return errors.Is(a.err, spec.ErrOutOfMemory) }

// tryEmptyCache is EmptyCache.
func (c *CachingAllocator) tryEmptyCache(s *model.State) *model.State {
	a := c.attemptsFrom(s)
	if a.emptied == nil {
		a.emptied = s.Copy()
		a.emptied.EmptyCacheInPlace()
	}
	return a.emptied
}
