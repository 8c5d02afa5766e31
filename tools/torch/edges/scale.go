package edges

import (
	"fmt"
	"slices"

	"gaugeblock/model/bounded"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A Size is a number of units in the specification and the bytes that it stands for.
type Size struct{ Units, Bytes uint64 }

// A Scale says what the sizes of a configuration are on PyTorch's allocator.
type Scale struct {
	Name     string // of the configuration
	Settings string // PYTORCH_ALLOC_CONF

	Requests  []Size
	MaxSplits []Size // of max_split_size, where it changes
	// Small and Large are a segment of each kind, or a page of an expandable one. They say
	// how large a unit is within it.
	Small, Large Size
	// Others are the other segments that the driver is asked for, and the ranges of addresses that
	// are reserved for expandable ones.
	Others []Size

	Memory uint64 // units of the device
	// Total is the size that the device says it has, in bytes; 0 means that a unit counts as
	// stride bytes. What a segment or a page takes of it is the share of its units.
	Total uint64

	// CountAsSmall says that all segments are small ones in the specification. On the scale they
	// are large.
	CountAsSmall bool
	// Forbids says that captures forbid to free memory, Marks that they are what is marked, and that calls
	// have a current stream. With either a stream is captured while its requests are routed to a pool;
	// otherwise the routing stands for a capture.
	Forbids, Marks bool

	// TwoStep says that a malloc releases the lock around its driver call, and has steps.
	TwoStep bool
	// Limited says that the allocator has a limit. Before each malloc it is set anew: see Limit.
	Limited bool
	// LimitBytes is the limit of a walk, if one number decides as the specification's does; otherwise 0.
	LimitBytes uint64

	// Inexact says why the states cannot be the same; "" if they are.
	Inexact string
}

// Exact reports whether the states are the same but for the sizes.
func (s *Scale) Exact() bool { return s.Inexact == "" }

// pieces are what the driver is asked for.
func (s *Scale) pieces() []Size { return append([]Size{s.Small, s.Large}, s.Others...) }

// stride is how far apart the addresses of two consecutive units are.
func (s *Scale) stride() uint64 {
	stride := 2 * spec.MiB
	for _, p := range s.pieces() {
		for p.Bytes > p.Units*stride {
			stride += 2 * spec.MiB
		}
	}
	return stride
}

// total is the size that the device says it has, in bytes.
func (s *Scale) total() uint64 {
	if s.Total != 0 {
		return s.Total
	}
	return s.Memory * s.stride()
}

// units is how many units a piece counts as.
func (s *Scale) units(bytes uint64) uint64 {
	for _, p := range s.pieces() {
		if p.Bytes == bytes {
			return p.Units
		}
	}
	return (bytes + s.stride() - 1) / s.stride()
}

// Header is the header of a trace of the configuration, for PyTorch's allocator. The streams of the
// configuration get handles that lie in PyTorch's tables in the order of their numbers.
func (s *Scale) Header(of trace.Header, streams []spec.Stream) trace.Header {
	of.Settings, of.Geometry, of.TotalMemory = s.Settings, spec.DefaultGeometry(), s.total()
	of.StatColumns = nil
	last := slices.Max(streams)
	for len(streams) < len(of.Streams) {
		last += 0x100
		streams = append(streams, last)
	}
	of.Streams = streams[:len(of.Streams)]
	return of
}

// Operation changes the size of an operation to bytes.
func (s *Scale) Operation(op *trace.Op) error {
	switch op.Kind {
	case trace.OpConfigure:
		for _, m := range s.MaxSplits {
			if op.Settings == bounded.MaxSplitSettings(m.Units) {
				op.Settings = bounded.MaxSplitSettings(m.Bytes / spec.MiB)
				return nil
			}
		}
		return fmt.Errorf("the scale of %s has no settings %q", s.Name, op.Settings)
	case trace.OpMalloc:
		i := slices.IndexFunc(s.Requests, func(r Size) bool { return r.Units == op.Size })
		if i < 0 {
			return fmt.Errorf("the scale of %s has no request of %d units", s.Name, op.Size)
		}
		op.Size = s.Requests[i].Bytes
	case trace.OpSetMemoryFraction:
		if !s.Limited && s.LimitBytes == 0 {
			return fmt.Errorf("the scale of %s has no limit", s.Name)
		}
	}
	return nil
}
