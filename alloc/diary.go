package alloc

import (
	"slices"
	"sync"
	"sync/atomic"

	"gaugeblock/spec"
)

// A diary is what a device writes down of itself: the last entries in a ring, and
// every entry to those who listen. Nothing is written, or even put together, when
// nobody wants it.
type diary struct {
	device    *device
	notes     *threadNotes
	listening bool // someone wants entries
	recording bool
	options   spec.HistoryOptions
	ring      ring[spec.HistoryEntry]
	trackers  []func(spec.HistoryEntry)

	// recorder is the part of options that is needed before the lock is taken.
	recorder atomic.Pointer[contextRecorder]
}

// contextRecorder asks where the program is, for entries from a level on.
type contextRecorder struct {
	ask   func() any
	level spec.ContextLevel
}

// gather asks where the program is, if that is wanted at this level. It must be
// called without the device's lock: nobody knows which locks the answer needs.
func (y *diary) gather(level spec.ContextLevel) any {
	r := y.recorder.Load()
	if r == nil || r.level < level {
		return nil
	}
	return r.ask()
}

// record starts or stops the ring.
func (y *diary) record(h spec.HistoryOptions) {
	y.recording = h.Enabled
	y.options = h
	if !h.Enabled || h.Clear {
		y.ring.clear()
	}
	y.ring.resize(max(1, h.MaxEntries))
	if h.Enabled && h.Context != nil && h.Level > spec.ContextNever {
		y.recorder.Store(&contextRecorder{h.Context, h.Level})
	} else {
		y.recorder.Store(nil)
	}
	y.listening = y.recording || len(y.trackers) > 0
}

// track adds a listener.
func (y *diary) track(f func(spec.HistoryEntry)) {
	y.trackers = append(y.trackers, f)
	y.listening = true
}

// write puts an entry together and hands it to those who want it.
func (y *diary) write(e spec.TraceEntry, pool spec.PoolID, context any, thread spec.Thread) {
	entry := spec.HistoryEntry{TraceEntry: e, Device: y.device.id, Pool: pool}
	entry.CompileContext, entry.UserMetadata = y.notes.of(thread)
	if y.options.Now != nil && y.recording {
		entry.TimeNS = y.options.Now()
	}
	if y.options.Level >= spec.ContextAlloc {
		entry.Context = context
	}
	for _, f := range y.trackers {
		f(entry)
	}
	if y.recording && !slices.Contains(y.options.Skip, e.Action) {
		y.ring.add(entry)
	}
}

// trace writes what was done to a block. size is in bytes.
func (d *device) trace(action spec.Action, b *block, size uint64, context any, thread spec.Thread) {
	if !d.diary.listening {
		return
	}
	e := spec.TraceEntry{Action: action, Addr: b.ptr, Size: size, Stream: b.stream}
	d.diary.write(e, b.pool.owner.id, context, thread)
}

// traceRange writes that memory came or went behind a range of a block's segment.
func (d *device) traceRange(action spec.Action, r spec.Range, b *block, context any, thread spec.Thread) {
	if !d.diary.listening {
		return
	}
	e := spec.TraceEntry{Action: action, Addr: r.Ptr, Size: r.Bytes, Stream: b.stream}
	d.diary.write(e, b.pool.owner.id, context, thread)
}

// traceOutOfMemory writes that a request failed; the free bytes of the device
// stand where other entries have an address.
func (d *device) traceOutOfMemory(w *want, deviceFree uint64) {
	if !d.diary.listening {
		return
	}
	e := spec.TraceEntry{Action: spec.ActionOOM, Addr: spec.Ptr(deviceFree), Size: w.size, Stream: w.stream}
	d.diary.write(e, w.pool.owner.id, w.context, w.thread)
}

// traceSnapshot writes that somebody looked.
func (d *device) traceSnapshot(pool spec.PoolID, active uint64) {
	if !d.diary.listening {
		return
	}
	d.diary.write(spec.TraceEntry{Action: spec.ActionSnapshot, Size: active}, pool, nil, 0)
}

// A ring keeps the last entries.
type ring[T any] struct {
	entries []T
	next    int // where the oldest stands, once the ring is full
	limit   int
}

func (r *ring[T]) add(e T) {
	if len(r.entries) < r.limit {
		r.entries = append(r.entries, e)
		return
	}
	r.entries[r.next] = e
	r.next = (r.next + 1) % r.limit
}

// list copies the entries, oldest first.
func (r *ring[T]) list() []T {
	return slices.Concat(r.entries[r.next:], r.entries[:r.next])
}

func (r *ring[T]) clear() { r.entries, r.next = nil, 0 }

// resize changes how many entries are kept; the oldest go first.
func (r *ring[T]) resize(limit int) {
	if limit == r.limit {
		return
	}
	kept := r.list()
	r.entries, r.next, r.limit = kept[max(0, len(kept)-limit):], 0, limit
}

// threadNotes are what the threads have said about themselves.
type threadNotes struct {
	used     atomic.Bool // somebody has said something
	mu       sync.Mutex
	compile  map[spec.Thread][]string
	metadata map[spec.Thread]string
}

func newThreadNotes() *threadNotes {
	return &threadNotes{compile: map[spec.Thread][]string{}, metadata: map[spec.Thread]string{}}
}

// noCompileContext is what upstream writes when nothing is being compiled.
const noCompileContext = "N/A"

func (n *threadNotes) of(t spec.Thread) (compile, metadata string) {
	if !n.used.Load() {
		return noCompileContext, ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	compile = noCompileContext
	if stack := n.compile[t]; len(stack) > 0 {
		compile = stack[len(stack)-1]
	}
	return compile, n.metadata[t]
}
