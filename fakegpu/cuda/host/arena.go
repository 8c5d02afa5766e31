//go:build cgo && linux

package host

import (
	"errors"
	"math"
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// An arena is the memory of a pool of the driver: a range of addresses that is backed by memory of
// the device in steps of 32 MiB, where allocations need it. Measured on an H200 (driver 580):
// the steps, the alignment, growth behind the last free range, and which steps a trim gives back
// are the driver's (testdata/growth.txt); among free ranges it mostly takes the smallest, of equal ones
// that which has been free longest, and here that is always so.
type arena struct {
	gpu    *fakegpu.GPU
	device spec.Device
	base   spec.Ptr // 0: nothing is reserved yet
	bytes  uint64   // of addresses
	fresh  uint64   // offset of what was never allocated, or is free again up to the end
	pages  map[uint64]spec.PageHandle
	free   []freedRange // below fresh, by offset, in bytes
	frees  uint64
}

// freedRange is memory that was freed.
type freedRange struct {
	from, to uint64
	stream   uint64           // its ID, that the range was freed on
	event    spec.EventHandle // behind the free; 0: the work before it is known to be over
	point    fakegpu.Point    // of the free
	since    uint64           // the number of the free
}

const (
	arenaStep  = 32 * spec.MiB
	mostBytes  = 512 * spec.GiB // of addresses
	arenaAlign = 512
)

// taker is a stream that asks for memory. It may use what was freed on it, what other streams have
// freed and are through with, and what was freed before something that it has waited for.
type taker struct {
	stream  uint64 // its ID
	follows func(fakegpu.Point) bool
}

func (t taker) may(f *freedRange) bool {
	return f.event == 0 || f.stream == t.stream || t.follows(f.point)
}

// take finds memory that a stream may use now.
func (a *arena) take(t taker, bytes uint64) (spec.Ptr, error) {
	if err := a.reserve(); err != nil {
		return 0, err
	}
	if err := a.forget(); err != nil {
		return 0, err
	}
	from := a.smallest(t, bytes)
	if bytes > a.bytes || from > a.bytes-bytes {
		return 0, &spec.DriverError{Call: "MallocAsync", Name: "cudaErrorMemoryAllocation", Code: 2, Kind: spec.ErrDriverOutOfMemory}
	}
	if err := a.back(from, from+bytes); err != nil {
		return 0, err
	}
	a.fresh = max(a.fresh, from+bytes)
	return a.base + spec.Ptr(from), a.consume(from, from+bytes)
}

// reserve reserves addresses: twice as many as the device has memory, since holes are left.
func (a *arena) reserve() error {
	if a.base != 0 {
		return nil
	}
	properties, err := a.gpu.Properties(a.device)
	if err != nil {
		return err
	}
	a.bytes = min(2*properties.TotalMemory, mostBytes) / arenaStep * arenaStep
	a.pages = map[uint64]spec.PageHandle{}
	a.base, err = a.gpu.ReserveForPool(a.device, a.bytes)
	return err
}

// smallest is the offset of the smallest range that a stream may use, or that of the end.
func (a *arena) smallest(t taker, bytes uint64) (from uint64) {
	from = a.fresh
	best, age := a.bytes, uint64(0)
	for i := 0; i < len(a.free); {
		first, end, since := a.free[i].from, a.free[i].from, uint64(0)
		for i < len(a.free) && a.free[i].from == end && t.may(&a.free[i]) {
			end, since = a.free[i].to, max(since, a.free[i].since)
			i++
		}
		switch {
		case first == end: // of another stream, which is not through
			i++
		case end-first >= bytes && (end-first < best || end-first == best && since < age):
			from, best, age = first, end-first, since
		case end == a.fresh && from == a.fresh:
			from = first
		}
	}
	return from
}

// forget asks for the ends of what frees wait for.
func (a *arena) forget() error {
	for i := range a.free {
		f := &a.free[i]
		if f.event == 0 {
			continue
		}
		complete, err := a.gpu.QueryEvent(f.event)
		if err != nil || !complete {
			continue // an event that a capture has spoilt is never seen to be complete
		}
		if err := a.gpu.DestroyEvent(f.event); err != nil {
			return err
		}
		f.event = 0
	}
	a.join()
	return nil
}

// join joins neighbours that nobody waits for.
func (a *arena) join() {
	joined := a.free[:0]
	for _, f := range a.free {
		if n := len(joined); n > 0 && f.event == 0 && joined[n-1].event == 0 && joined[n-1].to == f.from {
			joined[n-1].to, joined[n-1].since = f.to, max(joined[n-1].since, f.since)
		} else {
			joined = append(joined, f)
		}
	}
	a.free = joined
	if n := len(a.free); n > 0 && a.free[n-1].event == 0 && a.free[n-1].to == a.fresh {
		a.fresh = a.free[n-1].from
		a.free = a.free[:n-1]
	}
}

// consume takes a range out of what is free.
func (a *arena) consume(from, to uint64) (err error) {
	kept := make([]freedRange, 0, len(a.free))
	for _, f := range a.free {
		switch {
		case f.to <= from || f.from >= to:
			kept = append(kept, f)
		case f.to > to:
			f.from = to
			kept = append(kept, f)
		case f.event != 0:
			err = errors.Join(err, a.gpu.DestroyEvent(f.event))
		}
	}
	a.free = kept
	return err
}

// give takes memory back, behind an event.
func (a *arena) give(at spec.Ptr, bytes uint64, f freedRange) {
	from := uint64(at - a.base)
	i, _ := slices.BinarySearchFunc(a.free, from, func(f freedRange, from uint64) int { return int(int64(f.from) - int64(from)) })
	a.frees++
	f.from, f.to, f.since = from, from+bytes, a.frees
	a.free = slices.Insert(a.free, i, f)
}

// back maps memory where a range has none. If the device has not enough, nothing has changed.
func (a *arena) back(from, to uint64) error {
	var added []uint64
	for step := from / arenaStep; step*arenaStep < to; step++ {
		if _, there := a.pages[step]; there {
			continue
		}
		if err := a.mapStep(step); err != nil {
			for _, s := range added {
				err = errors.Join(err, a.unmapStep(s))
			}
			return err
		}
		added = append(added, step)
	}
	return nil
}

func (a *arena) mapStep(step uint64) error {
	page, err := a.gpu.CreatePage(a.device, arenaStep, spec.SharePOSIX)
	if err != nil {
		return err
	}
	at := a.base + spec.Ptr(step*arenaStep)
	if err := a.gpu.MapPage(at, arenaStep, page); err != nil {
		return errors.Join(err, a.gpu.ReleasePage(page))
	}
	a.pages[step] = page
	if err := a.gpu.SetAccess(at, arenaStep, a.device); err != nil {
		return errors.Join(err, a.unmapStep(step))
	}
	return nil
}

func (a *arena) unmapStep(step uint64) error {
	page := a.pages[step]
	delete(a.pages, step)
	return errors.Join(a.gpu.UnmapPage(a.base+spec.Ptr(step*arenaStep), arenaStep), a.gpu.ReleasePage(page))
}

// reserved is how many bytes of the device the arena has.
func (a *arena) reserved() uint64 { return uint64(len(a.pages)) * arenaStep }

// trim gives steps in which nothing is allocated, and that nobody is known to wait for, back to the device, the
// last first, while at least so many bytes stay reserved.
func (a *arena) trim(least uint64) error {
	// rounded up to steps, as long as that is a number
	return a.shrink(min(least, math.MaxUint64-arenaStep+1) + arenaStep - 1)
}

// giveBack does so when somebody has waited, until no more than the threshold is reserved.
func (a *arena) giveBack(threshold uint64) error {
	if err := a.forget(); err != nil {
		return err
	}
	return a.shrink(threshold)
}

func (a *arena) shrink(keep uint64) error {
	var steps []uint64
	for step := range a.pages {
		if a.idle(step*arenaStep, (step+1)*arenaStep) {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	for i := len(steps) - 1; i >= 0 && a.reserved() > keep; i-- {
		if err := a.unmapStep(steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// idle reports whether nothing is allocated in a range, and nobody waits for it.
func (a *arena) idle(from, to uint64) bool {
	to = min(to, a.fresh)
	return from >= to || slices.ContainsFunc(a.free, func(f freedRange) bool { return f.event == 0 && f.from <= from && f.to >= to })
}

// close gives everything back; nothing is allocated.
func (a *arena) close() error {
	if a.base == 0 {
		return nil
	}
	return a.gpu.FreeAddress(a.base, a.bytes)
}
