package trace

import (
	"errors"

	"gaugeblock/spec"
)

// Expectation is what the recorder saw of an operation. Everything is optional:
// nil says that nothing is known. A counterexample is a trace without any.
type Expectation struct {
	Addr *spec.Ptr // malloc: the address that was returned
	// what the allocator put into its trace buffer; nil: unknown, empty: nothing
	Entries []spec.TraceEntry
	// statistics afterwards, in the order of Header.StatColumns; nil: unknown
	Stats  []int64
	Layout []spec.Segment // memory afterwards; nil: unknown, empty: none
	// how it failed, see ErrorName; "" when it succeeded, unless all is Unknown
	Error   string
	Message string           // the message that came with the error, for people
	Tree    *TreeExpectation // call: what was seen afterwards; nil: unknown

	// What the driver returned in the operation, on its device and in order. No allocator can
	// guess it: it is told to the replay's driver, and not compared. Nil says that it is not
	// known beyond what Entries and Tree say; otherwise it is all.
	Segments      []spec.Range // by cudaMalloc
	AddressRanges []spec.Range // by cuMemAddressReserve
}

// Unknown reports whether nothing at all was recorded of what the allocator did, not even
// whether the operation succeeded.
func (e *Expectation) Unknown() bool {
	return e.Addr == nil && e.Entries == nil && e.Stats == nil && e.Layout == nil && e.Tree == nil && e.Error == ""
}

// What Expectation.Error can say.
const (
	ErrorOOM             = "oom"              // *OutOfMemoryError
	ErrorInvalidPointer  = "invalid_pointer"  // *InvalidPointerError
	ErrorInvalidArgument = "invalid_argument" // *InvalidArgumentError
	ErrorInvalidState    = "invalid_state"    // *InvalidStateError
	ErrorNotSupported    = "not_supported"    // anything that wraps ErrNotSupported
	ErrorDriver          = "driver"           // a *DriverError that is not one of the above
	ErrorOther           = "other"            // any other failure
)

var errorNames = []string{
	ErrorOOM, ErrorInvalidPointer, ErrorInvalidArgument, ErrorInvalidState,
	ErrorNotSupported, ErrorDriver, ErrorOther,
}

// ErrorName is the name that a trace has for an allocator's error, "" for nil.
func ErrorName(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, spec.ErrOutOfMemory):
		return ErrorOOM
	case wraps[*spec.InvalidPointerError](err):
		return ErrorInvalidPointer
	case wraps[*spec.InvalidArgumentError](err):
		return ErrorInvalidArgument
	case wraps[*spec.InvalidStateError](err):
		return ErrorInvalidState
	case errors.Is(err, spec.ErrNotSupported):
		return ErrorNotSupported
	case wraps[*spec.DriverError](err):
		return ErrorDriver
	}
	return ErrorOther
}

// wraps reports whether an error of a type is in the chain.
func wraps[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// Layout copies the segments of a snapshot without the contexts, which a trace does
// not record.
func Layout(s *spec.Snapshot) []spec.Segment {
	layout := make([]spec.Segment, 0, len(s.Segments))
	for _, g := range s.Segments {
		blocks := make([]spec.Block, 0, len(g.Blocks))
		for _, b := range g.Blocks {
			b.Context = nil
			blocks = append(blocks, b)
		}
		g.Context, g.Blocks = nil, blocks
		layout = append(layout, g)
	}
	return layout
}
