package replay

import (
	"cmp"
	"fmt"
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// An older trace does not tell every address that the driver returned: not where an address
// range lies in which nothing could be mapped, and not in which order a graph-tree call obtained
// segments of one size. Each such address is a choice. The first replay takes the usual one. If
// it differs, the trace is replayed again and again with other choices, those before the
// difference, the latest one first, until it is exact.

// tryTraces and tryOperations bound how many replays of a trace, and how many operations in them,
// are spent on that. A long trace is replayed a few times all the same.
const (
	tryTraces     = 200
	tryOperations = 2_000_000
)

// choice is an address that the trace does not tell.
type choice struct {
	operation, line int
	device          spec.Device
	reserve         bool // of an address range, otherwise of a segment
	bytes           uint64
	options         []spec.Ptr // 0 stands for a fresh address
	later           int        // how many options, the first ones, are from later trace entries
	taken           int        // which option
	confirmed       bool       // the trace has a mapping in the range, and the replay had it too
}

// choices are those of one replay.
type choices struct {
	path     []int     // which option the first ones take; all others take the first
	mappings []mapping // of the trace, as far as they matter
	made     []choice

	operation, line int // under way
}

// mapping is a segment_map of the trace, or an address that malloc returned if the trace has no
// entries of the operation.
type mapping struct {
	operation int
	device    spec.Device
	addr      spec.Ptr
}

const (
	// maxMappings bounds how many mappings are remembered to look for the address of a range.
	maxMappings = 10_000
	// maxLater bounds how many of them are options.
	maxLater = 8
)

// choose takes an option. It is what a script of the device asks.
func (c *choices) choose(dev spec.Device, q fakegpu.Choice) spec.Ptr {
	made := choice{
		operation: c.operation, line: c.line, device: dev, reserve: q.Reserve, bytes: q.Bytes,
		options: slices.Clone(q.Candidates),
	}
	if q.Reserve {
		later := c.laterBases(dev, q)
		made.later = len(later)
		made.options = slices.Concat(later, []spec.Ptr{0}, q.Candidates)
	}
	if n := len(c.made); n < len(c.path) {
		made.taken = c.path[n]
	}
	c.made = append(c.made, made)
	return made.options[made.taken]
}

// laterBases lists where this and later operations have memory outside of all ranges: a range is
// mapped from its base on.
func (c *choices) laterBases(dev spec.Device, q fakegpu.Choice) (bases []spec.Ptr) {
	for _, m := range c.mappings {
		inOther := func(base spec.Ptr) bool { return base <= m.addr && m.addr < base+spec.Ptr(q.Bytes) }
		if m.operation >= c.operation && m.device == dev && len(bases) < maxLater &&
			!slices.ContainsFunc(bases, inOther) && q.Vacant(m.addr) {
			bases = append(bases, m.addr)
		}
	}
	return bases
}

// remember keeps the mappings of an operation that may be in a range of which the address
// is not known.
func (c *choices) remember(number int, op *trace.Op) {
	if !slices.ContainsFunc(c.made, func(made choice) bool { return made.reserve }) {
		return
	}
	add := func(addr spec.Ptr) {
		if len(c.mappings) < maxMappings {
			c.mappings = append(c.mappings, mapping{number, op.Device, addr})
		}
	}
	for _, e := range op.Expect.Entries {
		if e.Action == spec.ActionSegmentMap {
			add(e.Addr)
		}
	}
	if e := &op.Expect; e.Entries == nil && e.Addr != nil && *e.Addr != 0 {
		add(*e.Addr)
	}
}

// confirm marks the ranges in which an operation has mapped or allocated memory as the trace
// says, and returns how many of its entries, with its address, were as expected.
func (r *run) confirm(op *trace.Op, out *perform.Result) (same int) {
	want, got := r.tolerance.events(op.Kind, op.Expect.Entries), r.tolerance.events(op.Kind, out.Entries)
	for same < len(want) && same < len(got) && want[same] == got[same] {
		if want[same].Action == spec.ActionSegmentMap {
			r.choices.mark(want[same].Addr)
		}
		same++
	}
	if op.Expect.Addr != nil && *op.Expect.Addr == out.Ptr {
		r.choices.mark(out.Ptr)
		same++
	}
	return same
}

// mark marks the range that an address is in, if it was chosen.
func (c *choices) mark(addr spec.Ptr) {
	for i := range c.made {
		made := &c.made[i]
		if at := made.options[made.taken]; at != 0 && made.reserve && at <= addr && addr < at+spec.Ptr(made.bytes) {
			made.confirmed = true
		}
	}
}

// next is the path of the next replay after one that differed: the latest choice takes its next
// option. What the trace has confirmed stays. It is nil when there is nothing left to choose.
func (c *choices) next() []int {
	for i, made := range slices.Backward(c.made) {
		if !made.confirmed && made.taken+1 < len(made.options) {
			var path []int
			for _, earlier := range c.made[:i] {
				path = append(path, earlier.taken)
			}
			return append(path, made.taken+1)
		}
	}
	return nil
}

// unknown is the first address range whose address the trace has not confirmed; nil if there is
// none.
func (c *choices) unknown() *choice {
	for i := range c.made {
		if made := &c.made[i]; made.reserve && !made.confirmed {
			return made
		}
	}
	return nil
}

// positional reports whether the unknown ranges lie where only their order among the others
// says something, not where a later mapping is.
func (c *choices) positional() bool {
	return !slices.ContainsFunc(c.made, func(made choice) bool {
		return made.reserve && !made.confirmed && made.taken < made.later
	})
}

func (c *choice) String() string {
	if c.reserve {
		return fmt.Sprintf("where the address range of %s lies, which operation %d (line %d) reserved",
			trace.SizeInWords(c.bytes), c.operation, c.line)
	}
	return fmt.Sprintf("in which order operation %d (line %d) obtained its segments of %s",
		c.operation, c.line, trace.SizeInWords(c.bytes))
}

// try replays a trace with other choices, after a first replay that differed, and returns the
// replay that counts: an exact one, or the one that came furthest.
func (s *source) try(first *run) (*run, error) {
	best, tried, operations := first, 1, first.performed()
	differences := map[string]bool{} // of replays with positional choices
	path := []int{}
	limit := max(tryOperations, 8*operations)
	for path != nil && tried < tryTraces && operations < limit {
		r, err := s.replay(&choices{path: path, mappings: first.choices.mappings}, false)
		if err != nil {
			return nil, err
		}
		tried++
		operations += r.performed()
		if r.result.FirstDifference == nil {
			r.result.Found = len(r.choices.made)
			r.result.Operations = first.result.Operations
			return r, nil
		}
		if r.choices.positional() {
			differences[r.result.FirstDifference.String()] = true
		}
		if r.furtherThan(best) || best == first && !first.furtherThan(r) {
			best = r
		}
		path = r.choices.next()
	}
	best.result.Operations = first.result.Operations
	unknown := best.choices.unknown()
	if path != nil { // not everything has been tried
		unknown = cmp.Or(unknown, &best.choices.made[0])
	} else if len(differences) <= 1 {
		return best, nil // wherever the ranges lie, the same differs
	}
	if unknown != nil {
		best.result.NotDetermined = fmt.Sprintf("the trace does not say %v; none of %d replays is exact", unknown, tried)
	}
	return best, nil
}

// performed is how many operations a replay has performed.
func (r *run) performed() int {
	if d := r.result.FirstDifference; d != nil {
		return d.Operation
	}
	return r.result.Operations
}

// furtherThan reports whether a replay came further before it differed.
func (r *run) furtherThan(other *run) bool {
	return cmp.Or(
		cmp.Compare(r.performed(), other.performed()),
		cmp.Compare(r.passed, other.passed),
		cmp.Compare(r.same, other.same)) > 0
}
