package alloc

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// A traceBuffer is the trace entries of a device: the last ones are kept in a ring, and
// every entry is passed to the trackers. No entry is made if there is neither.
//
// The clock and the trackers are functions of the program, and may panic. So they are
// not called in the middle of a step: the entries wait until the step is done, at the latest
// until the mutex is released (deliverLocked).
type traceBuffer struct {
	threads       *threadMetadata
	enabled       bool // entries are made: recordHistory is on, or there are trackers
	recordHistory bool
	options       spec.HistoryOptions
	allocBuffer   ringBuffer[spec.HistoryEntry]
	traceTrackers []func(spec.HistoryEntry)
	delivery      delivery
}

// A delivery is the entries that wait to be passed to the clock, the trackers and the ring,
// and how far that is done.
type delivery struct {
	entries  []spec.HistoryEntry
	next     int   // index of the entry that is delivered next
	stage    int   // of that entry: 0 is the clock, then each tracker, then the ring
	panicked []int // the stages whose function has panicked
}

// A gatheredContext is what the program's recorder of contexts returned, or nil (upstream:
// GatheredContext, a stack trace).
type gatheredContext any

// contextRecorder is the program's function that returns the present context (upstream:
// a stack trace), and the level that the program has set: it is called by operations whose
// own level is not above that.
type contextRecorder struct {
	record func() any
	level  spec.ContextLevel
}

// maybeGatherContext returns the present context if the level that the program has set is at least
// that of the operation. Whether a trace entry keeps it is another test (recordTrace). It is called
// without the mutex: the program's function may take any mutex.
func (d *device) maybeGatherContext(level spec.ContextLevel) gatheredContext {
	if d.contextRecorder.Load() == nil {
		return nil
	}
	return d.gatherContext(level)
}

func (d *device) gatherContext(level spec.ContextLevel) gatheredContext {
	if r := d.contextRecorder.Load(); r != nil && r.level >= level {
		return r.record()
	}
	return nil
}

// setHistory applies options to the ring.
func (t *traceBuffer) setHistory(h spec.HistoryOptions) {
	t.recordHistory = h.Enabled
	t.options = h
	if !h.Enabled || h.Clear {
		t.allocBuffer.clear()
	}
	t.allocBuffer.resize(max(1, h.MaxEntries))
	t.enabled = t.recordHistory || len(t.traceTrackers) > 0
}

func (t *traceBuffer) hasUndelivered() bool { return len(t.delivery.entries) > 0 }

// deliver passes the entries that wait to the clock, the trackers and the ring, in the
// order in which they were made. If a function panics it is not called again for these
// entries; the other functions and the ring get the rest, and the panic goes on.
func (t *traceBuffer) deliver() {
	d := &t.delivery
	goOn := func() {
		d.panicked = append(d.panicked, d.stage-1)
		t.deliver()
	}
	unlessReturned(goOn, func() {
		for d.next < len(d.entries) {
			t.deliverStage(&d.entries[d.next])
		}
		if cap(d.entries) > mostSpareEntries {
			d.entries = nil
		}
		clear(d.entries)
		*d = delivery{entries: d.entries[:0]}
	})
}

// mostSpareEntries is for how many waiting entries the space is kept.
const mostSpareEntries = 256

// deliverStage does the next stage of an entry. The stage is counted before the function of
// the program is called.
func (t *traceBuffer) deliverStage(e *spec.HistoryEntry) {
	d := &t.delivery
	stage := d.stage
	d.stage++
	switch {
	case stage > len(t.traceTrackers):
		if t.recordHistory && !slices.Contains(t.options.Skip, e.Action) {
			t.allocBuffer.add(*e)
		}
		d.stage = 0
		d.next++
	case slices.Contains(d.panicked, stage):
	case stage > 0:
		t.traceTrackers[stage-1](*e)
	case t.options.Now != nil && t.recordHistory:
		e.TimeNS = t.options.Now()
	}
}

// deliverLocked passes the trace entries that wait to the functions of the program. The
// structures are whole when it is called.
func (d *device) deliverLocked() {
	if d.traceBuffer.hasUndelivered() {
		d.traceBuffer.deliver()
	}
}

// recordTraceLocked records what was done to a range of a segment. The context of the entry is
// that of the operation or, if that was not gathered, the one of the allocation of what is freed.
func (d *device) recordTraceLocked(
	action spec.Action, s *segment, r spec.Range, whenAllocated gatheredContext,
) {
	if !d.traceBuffer.enabled {
		return
	}
	e := spec.TraceEntry{Action: action, Addr: r.Ptr, Size: r.Bytes, Stream: s.stream}
	d.addTraceLocked(spec.HistoryEntry{TraceEntry: e, Pool: s.blockPool.owner.id, Context: whenAllocated})
}

// addTraceLocked completes an entry, which then waits to be delivered. It has no context unless
// the history keeps contexts.
func (d *device) addTraceLocked(e spec.HistoryEntry) {
	t := &d.traceBuffer
	e.Device = d.id
	e.CompileContext, e.UserMetadata = t.threads.metadataFor(d.operation.thread)
	e.UserMetadata = cmp.Or(d.operation.annotation, e.UserMetadata)
	switch d.rules.ExactAddress {
	case upstream.ExactAddressInUserMetadata:
		e.UserMetadata = cmp.Or(d.operation.callName, e.UserMetadata)
	case upstream.ExactAddressInInternalMetadata:
		e.InternalMetadata = d.operation.callName
	}
	switch {
	case t.options.Level < spec.ContextAlloc:
		e.Context = nil
	case d.operation.context != nil:
		e.Context = d.operation.context
	}
	t.delivery.entries = append(t.delivery.entries, e)
}

// recordOOMTraceLocked records that a request failed. The address of the entry is the number
// of bytes that the device has free.
func (d *device) recordOOMTraceLocked(params *allocParams, deviceFree uint64) {
	if !d.traceBuffer.enabled {
		return
	}
	e := spec.TraceEntry{Action: spec.ActionOOM, Addr: spec.Ptr(deviceFree), Size: params.size, Stream: params.stream}
	d.addTraceLocked(spec.HistoryEntry{TraceEntry: e, Pool: params.blockPool.owner.id})
}

// recordSnapshotTraceLocked records that a snapshot was taken. active is the size in bytes of the
// active blocks.
func (d *device) recordSnapshotTraceLocked(pool spec.PoolID, active uint64) {
	if !d.traceBuffer.enabled {
		return
	}
	e := spec.TraceEntry{Action: spec.ActionSnapshot, Size: active}
	d.addTraceLocked(spec.HistoryEntry{TraceEntry: e, Pool: pool})
}

// A ringBuffer keeps the last entries.
type ringBuffer[T any] struct {
	entries []T
	next    int // index of the oldest, once the ring is full
	limit   int
}

func (r *ringBuffer[T]) add(e T) {
	if len(r.entries) < r.limit {
		r.entries = append(r.entries, e)
		return
	}
	r.entries[r.next] = e
	r.next = (r.next + 1) % r.limit
}

// list copies the entries, oldest first.
func (r *ringBuffer[T]) list() []T {
	return slices.Concat(r.entries[r.next:], r.entries[:r.next])
}

func (r *ringBuffer[T]) clear() { r.entries, r.next = nil, 0 }

// resize changes how many entries are kept. The oldest are dropped first.
func (r *ringBuffer[T]) resize(limit int) {
	if limit == r.limit {
		return
	}
	kept := r.list()
	r.entries, r.next, r.limit = kept[max(0, len(kept)-limit):], 0, limit
}

// threadMetadata is what the threads have set for their trace entries. (Upstream keeps
// it in thread-local variables.)
type threadMetadata struct {
	used atomic.Bool // a thread has set something

	mu             sync.Mutex
	compileContext map[spec.Thread][]string
	userMetadata   map[spec.Thread]string
}

func newThreadMetadata() *threadMetadata {
	return &threadMetadata{compileContext: map[spec.Thread][]string{}, userMetadata: map[spec.Thread]string{}}
}

// noCompileContext is what upstream writes when nothing is being compiled.
const noCompileContext = "N/A"

// metadataFor returns what the thread has set.
func (m *threadMetadata) metadataFor(t spec.Thread) (compileContext, userMetadata string) {
	if !m.used.Load() {
		return noCompileContext, ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	compileContext = noCompileContext
	if stack := m.compileContext[t]; len(stack) > 0 {
		compileContext = stack[len(stack)-1]
	}
	return compileContext, m.userMetadata[t]
}

// RecordHistory starts or stops the history of all devices; see spec.HistoryRecorder.
func (a *Allocator) RecordHistory(h spec.HistoryOptions) error {
	if h.Level < spec.ContextNever || h.Level > spec.ContextAll {
		return &spec.InvalidArgumentError{Op: "record_history", Reason: "unknown context level"}
	}
	if h.Enabled && h.Level > spec.ContextNever && h.Context == nil {
		const reason = "there is a context level, but no function that returns the context"
		return &spec.InvalidArgumentError{Op: "record_history", Reason: reason}
	}
	a.configuring.Lock()
	defer a.configuring.Unlock()
	a.setHistory(h)
	var recorder *contextRecorder
	if h.Enabled && h.Level > spec.ContextNever { // then there is a Context
		recorder = &contextRecorder{h.Context, h.Level}
	}
	return a.onEachDevice(func(d *device) error {
		d.traceBuffer.setHistory(h)
		d.contextRecorder.Store(recorder)
		return nil
	})
}

// setHistory applies options to the annotations.
func (a *Allocator) setHistory(h spec.HistoryOptions) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history = h
	if !h.Enabled || h.Clear {
		a.annotations.clear()
	}
	a.annotations.resize(max(1, h.MaxEntries))
}

// HistoryEnabled reports whether the history is recorded.
func (a *Allocator) HistoryEnabled() bool { return a.historyOptions().Enabled }

func (a *Allocator) historyOptions() spec.HistoryOptions {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.history
}

// Annotate adds an annotation to the history, if the history is recorded. The clock is
// called without a mutex held.
func (a *Allocator) Annotate(dev spec.Device, fields []spec.AnnotationField) {
	h := a.historyOptions()
	if !h.Enabled {
		return
	}
	annotation := spec.Annotation{Device: dev, Fields: append([]spec.AnnotationField(nil), fields...)}
	if h.Now != nil {
		annotation.TimeNS = h.Now()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.history.Enabled {
		a.annotations.add(annotation)
	}
}

// AnnotateBlock adds a trace entry for an allocated pointer; see spec.BlockAnnotator.
func (a *Allocator) AnnotateBlock(p spec.Ptr, text string) error {
	const op = "annotate_block"
	if !a.rules.Annotations {
		return &spec.NotSupportedError{Op: op, Reason: "this release has no annotations of blocks"}
	}
	d := a.deviceOf(p)
	if d == nil {
		return &spec.InvalidPointerError{Op: op, Ptr: p}
	}
	d.mu.Lock()
	defer d.unlock()
	b := d.allocatedBlocks.findLocked(p)
	if b == nil {
		return &spec.InvalidPointerError{Op: op, Ptr: p}
	}
	d.operation.annotation = text
	d.recordTraceLocked(spec.ActionAnnotate, b.segment, b.requested(), b.readRare().contextWhenAllocated)
	return nil
}

// PushCompileContext sets what the thread is compiling, until it is popped. It does
// nothing unless the history is recorded.
func (a *Allocator) PushCompileContext(t spec.Thread, name string) {
	if !a.HistoryEnabled() {
		return
	}
	a.threads.mu.Lock()
	defer a.threads.mu.Unlock()
	a.threads.compileContext[t] = append(a.threads.compileContext[t], name)
	a.threads.used.Store(true)
}

// PopCompileContext undoes the thread's last PushCompileContext.
func (a *Allocator) PopCompileContext(t spec.Thread) {
	if !a.HistoryEnabled() {
		return
	}
	a.threads.mu.Lock()
	defer a.threads.mu.Unlock()
	if stack := a.threads.compileContext[t]; len(stack) > 1 {
		a.threads.compileContext[t] = stack[:len(stack)-1]
	} else {
		delete(a.threads.compileContext, t)
	}
}

// SetUserMetadata sets a text for the thread's trace entries.
func (a *Allocator) SetUserMetadata(t spec.Thread, text string) {
	a.threads.mu.Lock()
	defer a.threads.mu.Unlock()
	a.threads.userMetadata[t] = text
	a.threads.used.Store(true)
}

// UserMetadata returns the text that was set last for the thread.
func (a *Allocator) UserMetadata(t spec.Thread) string {
	a.threads.mu.Lock()
	defer a.threads.mu.Unlock()
	return a.threads.userMetadata[t]
}

// OnOutOfMemory registers an observer of failed requests, on all devices; see
// spec.Observable.
func (a *Allocator) OnOutOfMemory(f func(spec.OutOfMemoryReport)) error {
	return a.onEachDeviceInOrder("on_out_of_memory", f == nil, func(d *device) error {
		d.oomObservers = append(d.oomObservers, f)
		return nil
	})
}

// OnRejection registers an observer of requests that throw_on_cudamalloc_oom ends, on all devices;
// see spec.RejectionObservable.
func (a *Allocator) OnRejection(f func(spec.RejectionReport)) error {
	return a.onEachDeviceInOrder("on_rejection", f == nil, func(d *device) error {
		d.rejectionObservers = append(d.rejectionObservers, f)
		return nil
	})
}

// OnTrace registers a tracker of the trace entries of all devices.
func (a *Allocator) OnTrace(f func(spec.HistoryEntry)) error {
	return a.onEachDeviceInOrder("on_trace", f == nil, func(d *device) error {
		d.traceBuffer.traceTrackers = append(d.traceBuffer.traceTrackers, f)
		d.traceBuffer.enabled = true
		return nil
	})
}

// OnNeedMemory registers a callback that may free memory, on all devices.
func (a *Allocator) OnNeedMemory(f func() bool) error {
	return a.onEachDeviceInOrder("on_need_memory", f == nil, func(d *device) error {
		d.freeMemoryCallbacks = append(d.freeMemoryCallbacks, f)
		return nil
	})
}

// onEachDeviceInOrder registers a function of the program on each device, so that all have
// such functions in the same order.
func (a *Allocator) onEachDeviceInOrder(op string, isNil bool, add func(*device) error) error {
	if isNil {
		return &spec.InvalidArgumentError{Op: op, Reason: "there is no function"}
	}
	a.configuring.Lock()
	defer a.configuring.Unlock()
	return a.onEachDevice(add)
}
