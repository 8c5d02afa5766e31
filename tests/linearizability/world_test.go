package linearizability

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// A world is a state of the sequential specification: the model's state of each device that is
// checked, and what the model leaves out, in a few lines for each.
type world struct {
	devices  []model.State
	numbers  []spec.Device // of the devices
	mallocs  []mallocProgress
	saved    map[int]model.Checkpoint // by the call that made it
	opened   map[int]opened           // memory of another process, by handle
	shared   map[spec.Ptr]string      // handles of this process's segments, by base
	uncached []spec.Ptr               // memory that was allocated with caching off
	// configured has, for each device, the calls that have set its settings, in order.
	configured []string
	// uncaching: caching is off.
	uncaching bool
	metadata  string
}

// opened is memory of another process that is open.
type opened struct {
	base  spec.Ptr
	users int
	by    string // the calls that opened it and have not been closed
}

// copy is a world that can be changed: the maps and slices are changed by replacing them.
func (w *world) copy() *world {
	next := *w
	next.devices = slices.Clone(w.devices)
	next.mallocs = slices.Clone(w.mallocs)
	next.configured = slices.Clone(w.configured)
	return &next
}

func (w *world) equal(o *world) bool {
	return slices.Equal(w.mallocs, o.mallocs) && slices.EqualFunc(w.devices, o.devices, model.State.Equal) &&
		w.uncaching == o.uncaching && w.metadata == o.metadata && slices.Equal(w.uncached, o.uncached) &&
		slices.Equal(w.configured, o.configured) && maps.Equal(w.opened, o.opened) && maps.Equal(w.shared, o.shared) &&
		maps.EqualFunc(w.saved, o.saved, func(a, b model.Checkpoint) bool { return slices.Equal(a.Blocks, b.Blocks) })
}

// with is a map with one more entry.
func with[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	next := maps.Clone(m)
	if next == nil {
		next = map[K]V{}
	}
	next[key] = value
	return next
}

// allocated finds the allocated block at an address of a device.
func (w *world) allocated(device int, p spec.Ptr) (segment *model.Segment, found bool) {
	for i := range w.devices[device].Segments {
		g := &w.devices[device].Segments[i]
		for _, b := range g.Blocks {
			if b.Address == p && b.State == spec.ActiveAllocated {
				return g, true
			}
		}
	}
	return nil, false
}

// judgeFree is Step, and for memory that was allocated uncached what the driver does.
func judgeFree(w *world, device int, a *action) error {
	if at := slices.Index(w.uncached, a.from.Ptr); at >= 0 {
		w.uncached = slices.Delete(slices.Clone(w.uncached), at, at+1)
		return required(model.Result{}, a.from)
	}
	return w.stepModel(device, a)
}

// judgeRecordStream is Step; a use of memory that was allocated uncached is not recorded.
func judgeRecordStream(w *world, device int, a *action) error {
	if slices.Contains(w.uncached, a.from.Ptr) {
		return required(model.Result{}, a.from)
	}
	return w.stepModel(device, a)
}

// judgeUncached is the driver's part of a malloc while caching is off.
func (w *world) judgeUncached(a *action) error {
	if err := required(model.Result{}, a.from); err != nil {
		return err
	}
	p := a.from.Out.Ptr
	for i := range w.devices {
		for _, g := range w.devices[i].Segments {
			if g.Address <= p && p < g.Address+spec.Ptr(g.Size) {
				return fmt.Errorf("%v is in the segment at %v", p, g.Address)
			}
		}
	}
	if p == 0 || slices.Contains(w.uncached, p) {
		return fmt.Errorf("%v is allocated", p)
	}
	w.uncached = append(slices.Clone(w.uncached), p)
	return nil
}

// judgeConfigure is Step; all devices get the settings of several calls in one order.
func judgeConfigure(w *world, device int, a *action) error {
	if len(w.configured) < len(w.devices) {
		w.configured = make([]string, len(w.devices))
	}
	if a.from.Out.Err == nil {
		w.configured[device] += fmt.Sprintf("(%d)", a.from.id)
	}
	for _, other := range w.configured {
		if !strings.HasPrefix(other, w.configured[device]) && !strings.HasPrefix(w.configured[device], other) {
			return fmt.Errorf("another device has got the settings in another order")
		}
	}
	return w.stepModel(device, a)
}

func judgeEmptyPool(w *world, device int, a *action) error {
	s := w.devices[device]
	i := slices.IndexFunc(s.Pools, func(p model.Pool) bool { return p.ID == poolID(a.from.Op.Pool) })
	if i >= 0 && s.Pools[i].UseCount == 0 && len(s.Routings) > 0 {
		return required(model.Result{Err: &spec.InvalidStateError{}}, a.from)
	}
	w.devices[device] = s.EmptyPool(poolID(a.from.Op.Pool))
	return required(model.Result{}, a.from)
}

// judgeCheckpoint: a pool that is not live has no checkpoint. The specification keeps one
// checkpoint of a pool; here each has the call that made it.
func judgeCheckpoint(w *world, device int, a *action) error {
	s, id := w.devices[device], poolID(a.from.Op.Pool)
	if !live(s, id) {
		return required(model.Result{Err: &spec.InvalidStateError{}}, a.from)
	}
	next, r := s.Checkpoint(id)
	if r.Err == nil {
		i := slices.IndexFunc(next.Checkpoints, func(c model.Checkpoint) bool { return c.Pool == id })
		w.saved = with(w.saved, a.from.id, next.Checkpoints[i])
		next = next.DropCheckpoint(id)
	}
	w.devices[device] = next
	return required(r, a.from)
}

func judgeRestore(w *world, device int, a *action) error {
	saved, s := w.saved[a.from.used.id], w.devices[device]
	if !live(s, saved.Pool) {
		return required(model.Result{Err: &spec.InvalidStateError{}}, a.from)
	}
	s.Checkpoints = append(slices.Clone(s.Checkpoints), saved)
	next, r := s.SetCheckpointPoolState(saved.Pool)
	next = next.DropCheckpoint(saved.Pool)
	w.devices[device] = next
	return required(r, a.from)
}

func live(s model.State, id spec.PoolID) bool {
	return slices.ContainsFunc(s.Pools, func(p model.Pool) bool { return p.ID == id && p.UseCount > 0 })
}

// sharedAnswer is what ShareHandle returned.
type sharedAnswer struct {
	handle string
	offset uint64
}

// judgeShare: the blocks of a segment have one handle, and it is that of no other segment.
func judgeShare(w *world, device int, a *action) error {
	g, found := w.allocated(device, a.from.Ptr)
	if !found {
		return required(model.Result{Err: &spec.InvalidPointerError{}}, a.from)
	}
	if g.Expandable || a.from.Out.Err != nil {
		return required(model.Result{}, a.from)
	}
	got := a.from.Answer.(sharedAnswer)
	if got.offset != uint64(a.from.Ptr-g.Address) {
		return fmt.Errorf("the offset is %d, not %d", a.from.Ptr-g.Address, got.offset)
	}
	return nil
}

// judgeOpen: memory that is open is not opened again.
func judgeOpen(w *world, _ int, a *action) error {
	if err := required(model.Result{}, a.from); err != nil {
		return err
	}
	handle := a.from.Op.Handle
	o := w.opened[handle]
	if o.users > 0 && o.base != a.from.Out.Ptr {
		return fmt.Errorf("the memory is open at %v, not at %v", o.base, a.from.Out.Ptr)
	}
	w.opened = with(w.opened, handle, opened{a.from.Out.Ptr, o.users + 1, o.by + fmt.Sprintf("(%d)", a.from.id)})
	return nil
}

// judgeClose: what is closed twice is an InvalidStateError.
func judgeClose(w *world, _ int, a *action) error {
	me := fmt.Sprintf("(%d)", a.from.used.id)
	for handle, o := range w.opened {
		if before, after, is := strings.Cut(o.by, me); is {
			w.opened = with(w.opened, handle, opened{o.base, o.users - 1, before + after})
			return required(model.Result{}, a.from)
		}
	}
	return required(model.Result{Err: &spec.InvalidStateError{}}, a.from)
}

func judgeBaseAllocation(w *world, device int, a *action) error {
	g, found := w.allocated(device, a.from.Ptr)
	if !found {
		return required(model.Result{Err: &spec.InvalidPointerError{}}, a.from)
	}
	if g.Expandable {
		return required(model.Result{Err: &spec.InvalidArgumentError{}}, a.from)
	}
	return answers(a.from, spec.Range{Ptr: g.Address, Bytes: g.Size})
}

// judgeCacheInfo: the largest free block, or the given size if that is larger. (If it is 0 the
// device is asked for its free memory, which the specification has only between two mallocs.)
func judgeCacheInfo(w *world, device int, a *action) error {
	if a.from.Op.Bytes == 0 {
		return required(model.Result{}, a.from)
	}
	largest := a.from.Op.Bytes
	for _, g := range w.devices[device].Segments {
		for _, b := range g.Blocks {
			if b.IsFree() {
				largest = max(largest, b.Size)
			}
		}
	}
	return answers(a.from, largest)
}
