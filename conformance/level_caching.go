package conformance

import (
	"cmp"
	"math/bits"
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Caching: freed memory is used again without the driver, and the driver is not asked for much
// more than is needed. The programs for this only allocate and free, on three streams, on a
// device with plenty of memory, so that nothing but the allocator's own choice prevents reuse.
// The kit hears what the device is asked for (level_meter.go).
//
//	KeepsWhatItGetsBack   a free gives nothing back to the driver
//	ReuseNeedsNoDriver    as long as what was freed is free, the next request of the
//	                      same size and stream asks the driver for nothing
//	SplitsAndCoalesces    nor does one for a quarter of a stretch of freed memory, or
//	                      less. A stretch is what one stream has freed side by side in
//	                      one piece of driver memory, with nothing in use in between
//	WasteIsBounded        what is held is at most three times what was allocated at its
//	                      peak, and a buffer of 32 MiB, for each stream and kind of size
//
// # Why these bounds
//
// A quarter, because that is what a buddy allocator can always do: any stretch holds an
// aligned power of two of more than a quarter of its length, and so the power of two
// that a request for a quarter is rounded up to. Who cuts and merges at will does
// better. Small and large requests (Geometry.SmallSize) may be kept apart, so stretches
// of one kind are not asked to serve the other.
//
// Three times, because there are two ways to lose. Requests just above a third of a
// buffer leave a third of it empty: what is held is one and a half times what is allocated.
// And by the fifty-percent rule (Knuth, The Art of Computer Programming, 2.5) an
// allocator that merges neighbours has, in the long run, one free block for two in
// use, which is another half: two and a quarter together. The rest, up to three, is
// for luck. An allocator that does not reuse passes any such bound in time. Memory of
// one stream is of no use to another one, so each counts its own peak, and each its
// last buffer, which may be empty but for one block.

// cachingArea is the kind of program. It is not among Areas: those are about correctness, this
// one is about quality.
var cachingArea = Area{
	Name: "caching", What: "malloc and free on three streams, with memory in plenty",
	Devices: 1, Streams: 2, Memory: 32 * spec.GiB, Live: 30,
	Settings: []string{""},
	Kinds:    []Share{{trace.OpMalloc, 40}, {trace.OpFree, 36}},
}

// The classes of failures that belong to it.
const (
	classGivesBack = "returns at once"
	classAsksAgain = "asks the driver again"
	classUnused    = "leaves free memory unused"
	classWastes    = "wastes memory"
)

// wasteFactor is how many times the peak may be held.
const wasteFactor = 3

// poolStep is the memory by which the driver's own pools (cudaMallocAsync) grow: the largest buffer
// of those that are known.
const poolStep = 32 * spec.MiB

// largestStep is by how many bytes an allocator grows at once for a small request, or the driver's pool behind it.
func (t *Trial) largestStep() uint64 { return max(t.header.Geometry.LargeBuffer, poolStep) }

// cacheWatch knows what was freed and not allocated again.
type cacheWatch struct {
	meter  *meter
	freed  []freedMemory
	out    map[kindOfMemory]uint64
	peak   map[kindOfMemory]uint64
	before meter // as it was before the present operation
}

// kindOfMemory is what may be kept apart.
type kindOfMemory struct {
	slot  int // of the stream
	large bool
}

// freedMemory is an allocation that was freed.
type freedMemory struct {
	spec.Range
	kind kindOfMemory
}

func newCacheWatch(m *meter) *cacheWatch {
	return &cacheWatch{meter: m, out: map[kindOfMemory]uint64{}, peak: map[kindOfMemory]uint64{}}
}

// checkCaching looks at what an operation asked of the driver. The program has not
// taken note of the operation yet.
func (t *Trial) checkCaching(op *trace.Op, out *perform.Result) *Failure {
	w := t.cache
	if w == nil {
		return nil
	}
	asked, gave := w.meter.asked > w.before.asked, w.meter.gave > w.before.gave
	w.before = meter{asked: w.meter.asked, gave: w.meter.gave}
	switch {
	case op.Kind == trace.OpFree && out.Err == nil:
		return t.checkKept(op, gave)
	case gave:
		w.freed = nil // the cache was emptied
	}
	if op.Kind != trace.OpMalloc || out.Err != nil || op.Size == 0 {
		return nil
	}
	kind := kindOfMemory{t.program.slot(op.Device, op.Stream), op.Size > t.header.Geometry.SmallSize}
	if asked && !gave {
		if f := t.checkNeed(op, kind); f != nil {
			return f
		}
	}
	// Rounding may take as much memory as the next power of two.
	given := spec.Range{Ptr: out.Ptr, Bytes: uint64(1) << bits.Len64(op.Size-1)}
	w.freed = slices.DeleteFunc(w.freed, func(f freedMemory) bool { return f.Overlaps(given) })
	w.out[kind] += roundUp(op.Size, t.header.Geometry.MinBlock)
	w.peak[kind] = max(w.peak[kind], w.out[kind])
	return t.checkWaste()
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// checkKept remembers what was freed.
func (t *Trial) checkKept(op *trace.Op, gave bool) *Failure {
	w, m := t.cache, t.program.find(op.ID)
	if m.size == 0 {
		return nil
	}
	kind := kindOfMemory{m.slot, m.size > t.header.Geometry.SmallSize}
	w.out[kind] -= roundUp(m.size, t.header.Geometry.MinBlock)
	if gave {
		w.freed = nil // nobody knows how much
		return t.fail(classGivesBack, "the free of %d bytes at %v gave memory back to the driver", m.size, m.ptr)
	}
	w.freed = append(w.freed, freedMemory{spec.Range{Ptr: m.ptr, Bytes: m.size}, kind})
	return nil
}

// checkNeed looks whether the driver had to be asked.
func (t *Trial) checkNeed(op *trace.Op, kind kindOfMemory) *Failure {
	for _, f := range t.cache.freed {
		if f.kind == kind && f.Bytes == op.Size {
			return t.fail(classAsksAgain, "the driver was asked for memory, for %d bytes; %v was freed by the same stream, is free, and was %d bytes as well",
				op.Size, f.Ptr, f.Bytes)
		}
	}
	const share = 4
	if s := t.cache.longest(kind, t.program.memory); s.Bytes/share >= op.Size {
		return t.fail(classUnused, "the driver was asked for memory, for %d bytes; %d bytes from %v on were freed by the same stream and are free",
			op.Size, s.Bytes, s.Ptr)
	}
	return nil
}

// longest is the longest stretch.
func (w *cacheWatch) longest(kind kindOfMemory, out []*memory) spec.Range {
	slices.SortFunc(w.freed, func(a, b freedMemory) int { return cmp.Compare(a.Ptr, b.Ptr) })
	var longest, stretch spec.Range
	for _, f := range w.freed {
		longer := spec.Range{Ptr: stretch.Ptr, Bytes: uint64(f.End() - stretch.Ptr)}
		taken := slices.ContainsFunc(out, func(m *memory) bool {
			return longer.Overlaps(spec.Range{Ptr: m.ptr, Bytes: m.size})
		})
		switch {
		case f.kind != kind:
			stretch = spec.Range{}
			continue
		case stretch.Bytes > 0 && !taken && w.meter.inOnePiece(longer):
			stretch = longer
		default:
			stretch = f.Range
		}
		if stretch.Bytes > longest.Bytes {
			longest = stretch
		}
	}
	return longest
}

// checkWaste compares what is held with what was needed.
func (t *Trial) checkWaste() *Failure {
	free, total, err := t.player.GPU().MemInfo(0)
	if err != nil {
		return nil
	}
	var needed, most uint64
	for _, peak := range t.cache.peak {
		needed += peak
		most += wasteFactor*peak + t.largestStep()
	}
	if held := total - free; held > most {
		return t.fail(classWastes, "%d bytes are held from the driver, %d were needed at most (the peaks of each stream's small and large requests), %d are allowed",
			held, needed, most)
	}
	return nil
}
