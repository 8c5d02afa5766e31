package fakegpu

import (
	"fmt"

	"github.com/tidwall/btree"

	"gaugeblock/spec"
)

// Lifetimes. An allocator caches memory of the driver and allocates it for one owner
// after another; the device sees nothing of that. So whoever stands between the
// program and the allocator says it: BeginLifetime when Malloc returns, EndLifetime
// before Free is called (tests/earlyreuse does both).
//
// Saying so about any byte of a piece of the driver's memory, or of a reserved
// range, makes all of it managed: from then on nobody may touch bytes of it that
// are not allocated. Other memory belongs to the program all the time, in one lifetime.

// Lifetime is the time from an allocation of some memory to its free.
type Lifetime struct {
	// Number counts lifetimes in the order in which they began, from 1; BeginLifetime
	// sets it. It is 0 for memory that no allocator manages.
	Number uint64
	Range  spec.Range
	Device spec.Device
	Stream spec.Stream // that it was allocated for
	Pool   spec.PoolID // that it came from
	// Captured: the lifetime belongs to a graph, and begins anew, at the same
	// addresses, with every launch of it, although the memory is freed by then.
	// BeginLifetime sets it for what is allocated for a stream that is being captured,
	// and for what comes from a private pool while any is. Whoever restores a pool to
	// what a capture left (a checkpoint) has to set it.
	Captured bool
	// Yields: the memory is that of an allocator which may make parts of it, as one over the
	// driver's own pool does. A lifetime that begins in it takes its place.
	Yields bool
	Owner  string // for reports; may be empty. Without bytes it is all that is said of the lifetime
	Tag    any    // the caller's own, which must be comparable

	recorded *recordedUse // see RecordUse
}

// unmanaged is the one lifetime of all memory that no allocator manages. It is enough
// that it is not that of any other.
var unmanaged = &Lifetime{}

// nobodys reports whether it is no allocation: memory of the driver, or the allocator's own work.
func (l Lifetime) nobodys() bool { return l.Number == 0 || l.Range.Bytes == 0 && l.Owner != "" }

// String says what it is: lifetime 3 ("weights", 512 bytes at 0x..., allocated for
// stream 0x7).
func (l Lifetime) String() string {
	if l.Number == 0 {
		return "memory of the driver"
	}
	if l.nobodys() {
		return l.Owner
	}
	owner := ""
	if l.Owner != "" {
		owner = fmt.Sprintf("%q, ", l.Owner)
	}
	return fmt.Sprintf("lifetime %d (%s%d bytes at %v, allocated for %s)",
		l.Number, owner, l.Range.Bytes, l.Range.Ptr, streamName(l.Device, l.Stream))
}

// owners are the lifetimes that have begun and not ended, by address. They do not
// overlap.
type owners struct {
	byPtr  btree.Map[spec.Ptr, *Lifetime]
	number uint64 // of the latest lifetime
}

// around finds the lifetime that an address is in.
func (o *owners) around(p spec.Ptr) *Lifetime {
	var found *Lifetime
	o.byPtr.Descend(p, func(_ spec.Ptr, l *Lifetime) bool {
		if p < l.Range.End() {
			found = l
		}
		return false
	})
	return found
}

// each visits a range in stretches that have one owner, nil where there is none.
func (o *owners) each(r spec.Range, visit func(spec.Range, *Lifetime)) {
	at := r.Ptr
	if l := o.around(at); l != nil {
		end := min(l.Range.End(), r.End())
		visit(spec.Range{Ptr: at, Bytes: uint64(end - at)}, l)
		at = end
	}
	if at == r.End() {
		return
	}
	o.byPtr.Ascend(at, func(p spec.Ptr, l *Lifetime) bool {
		if p >= r.End() {
			return false
		}
		if at < p {
			visit(spec.Range{Ptr: at, Bytes: uint64(p - at)}, nil)
		}
		at = min(l.Range.End(), r.End())
		visit(spec.Range{Ptr: p, Bytes: uint64(at - p)}, l)
		return true
	})
	if at < r.End() {
		visit(spec.Range{Ptr: at, Bytes: uint64(r.End() - at)}, nil)
	}
}

// overlapping lists the lifetimes that have bytes of a range.
func (o *owners) overlapping(r spec.Range) (lifetimes []*Lifetime) {
	o.each(r, func(_ spec.Range, l *Lifetime) {
		if l != nil {
			lifetimes = append(lifetimes, l)
		}
	})
	return lifetimes
}

// BeginLifetime says that an allocator has allocated memory, and returns the number of
// the lifetime. It turns the detection of hazards on. Memory that is allocated already,
// or that the process does not have, is a hazard; of the two owners the later one has
// the memory from then on.
func (g *GPU) BeginLifetime(l Lifetime) (number uint64) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.beginLifetime(l, g.streams[l.Stream])
}

// beginLifetime does so if the stream is found, nil if it is a default stream or not there.
func (g *GPU) beginLifetime(l Lifetime, s *stream) (number uint64) {
	d := g.detect()
	d.owners.number++
	l.Number = d.owners.number
	if l.Range.Bytes == 0 {
		return l.Number
	}
	l.Captured = l.Captured || !l.Pool.IsDefault() && len(g.captures) > 0 || s != nil && s.capture != nil
	if a := g.space.around(l.Range.Ptr); a != nil && a.Contains(l.Range) {
		a.managed = true
	} else {
		d.report(Hazard{Kind: NoMemory, Range: l.Range, Later: &l, Missing: fmt.Sprintf("%v was allocated, but the process does not have such memory", l)})
	}
	for _, other := range d.owners.overlapping(l.Range) {
		if !other.Yields {
			d.report(Hazard{Kind: AllocatedTwice, Range: l.Range, Earlier: other, Later: &l, Missing: fmt.Sprintf("%v was allocated while %v had not ended", l, *other)})
		}
		d.owners.byPtr.Delete(other.Range.Ptr)
	}
	d.owners.byPtr.Set(l.Range.Ptr, &l)
	return l.Number
}

// InAllocator says that what is given to streams from now on is the allocator's own work: fills, backups
// and copies of memory that it holds, allocated or not. Such work is in order with that of all owners of the
// memory, or it is a hazard. Outside says that the call of the allocator is over.
func (g *GPU) InAllocator() (outside func()) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	d := g.detect()
	d.inAllocator, d.own = true, nil
	return func() {
		g.machine.mu.Lock()
		defer g.machine.mu.Unlock()
		d.inAllocator = false
	}
}

// recordedUse is a stream that the allocator was told of (RecordStream).
type recordedUse struct {
	device spec.Device
	stream spec.Stream
	before *recordedUse // that it was told of before; nil: none
}

// RecordUse says that the allocator has been told that a stream uses the memory at an
// address. It orders nothing: what a hazard lacks is worded accordingly. Nothing happens if no
// lifetime begins there.
func (g *GPU) RecordUse(p spec.Ptr, dev spec.Device, s spec.Stream) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if g.detector == nil {
		return
	}
	if l, found := g.detector.owners.byPtr.Get(p); found {
		l.recorded = &recordedUse{dev, s, l.recorded}
	}
}

// knowsOf reports whether the allocator was told that a stream uses the memory.
func (l *Lifetime) knowsOf(dev spec.Device, s spec.Stream) bool {
	for u := l.recorded; u != nil; u = u.before {
		if u.device == dev && u.stream == s {
			return true
		}
	}
	return false
}

// EndLifetime says that an allocator is about to free the memory at an address. Nothing
// happens if no lifetime begins there. Undo makes as if nothing had been said, for the
// case that the allocator refuses.
func (g *GPU) EndLifetime(p spec.Ptr) (undo func()) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if g.detector == nil {
		return func() {}
	}
	owners := &g.detector.owners
	l, found := owners.byPtr.Delete(p)
	if !found {
		return func() {}
	}
	return func() {
		g.machine.mu.Lock()
		defer g.machine.mu.Unlock()
		owners.byPtr.Set(p, l)
	}
}

// EndYielded ends the lifetime with a number, if it has not ended and nothing has taken its place.
func (g *GPU) EndYielded(p spec.Ptr, number uint64) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if g.detector == nil {
		return
	}
	if l, found := g.detector.owners.byPtr.Get(p); found && l.Number == number {
		g.detector.owners.byPtr.Delete(p)
	}
}

// EndLifetimeOn does what EndLifetime does for an allocator whose free is work of a
// stream (cudaFreeAsync): all other work on the memory has to come before it, and it
// before all work of the next owner. Nothing happens if no lifetime begins at the
// address.
func (g *GPU) EndLifetimeOn(dev spec.Device, handle spec.Stream, p spec.Ptr, name string) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s, err := g.stream(callLaunch, dev, handle)
	if err != nil || g.detector == nil {
		return err
	}
	l, found := g.detector.owners.byPtr.Get(p)
	if !found {
		return nil
	}
	err = g.give(callLaunch, s, work{
		kind: workKernel, name: name, device: dev, writes: []spec.Range{l.Range}, writer: l.Device, ends: true,
	})
	g.detector.owners.byPtr.Delete(p)
	return err
}
