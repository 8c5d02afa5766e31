package edges

import (
	"fmt"

	"gaugeblock/model/bounded"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A limit counts bytes on PyTorch's allocator, and units in the specification, where a small
// segment and a large one have another ratio. No number of bytes is the limit of all states. But a
// malloc tests its limit with what is reserved now, and, if that is too much, with what remains
// when all cached memory has been released. There is a number of bytes that decides these tests as
// the specification does, and so the limit is set before each malloc.

// WholeLimit is what sets the limit of a walk at its beginning.
func (s *Scale) WholeLimit() []trace.Op {
	if s.LimitBytes == 0 {
		return nil
	}
	return []trace.Op{s.setLimit(s.LimitBytes)}
}

// setLimit sets the limit to bytes, whether it is rounded down or to the nearest. The device does not have what needs
// more than all.
func (s *Scale) setLimit(bytes uint64) trace.Op {
	fraction := (float64(bytes) + 0.25) / float64(s.total())
	return trace.Op{Kind: trace.OpSetMemoryFraction, Fraction: min(fraction, 1)}
}

// Limit is what sets the limit before an operation in a state: nothing if the scale has
// no limit or no malloc goes on in the operation.
func (s *Scale) Limit(from *bounded.State, ops []trace.Op) ([]trace.Op, error) {
	for i := range ops {
		if op := &ops[i]; op.Kind == trace.OpMalloc && s.Limited {
			bytes, err := s.limit(from, op.Size)
			return []trace.Op{s.setLimit(bytes)}, err
		}
	}
	return nil, nil
}

// limit is the limit in bytes for a malloc of a number of units.
func (s *Scale) limit(from *bounded.State, request uint64) (uint64, error) {
	segment := s.Large
	if request <= from.Geometry.SmallSize {
		segment = s.Small
	}
	emptied := from.EmptyCache()
	for _, tested := range []*bounded.State{from, &emptied} {
		bytes, err := s.reserved(tested)
		if err != nil {
			return 0, err
		}
		if tested.Reserved()+segment.Units <= from.Limit {
			return bytes + segment.Bytes, nil
		}
	}
	bytes, err := s.reserved(&emptied)
	return bytes + segment.Bytes - 1, err // it fails
}

// reserved is what is reserved in a state, in bytes.
func (s *Scale) reserved(in *bounded.State) (bytes uint64, err error) {
	for i := range in.Segments {
		segment := s.Large
		if in.Segments[i].PoolKind == spec.SmallPool {
			segment = s.Small
		}
		if in.Segments[i].Size != segment.Units {
			return 0, fmt.Errorf("the scale of %s has no segment of %d units", s.Name, in.Segments[i].Size)
		}
		bytes += segment.Bytes
	}
	return bytes, nil
}
