package concurrent

import (
	"errors"
	"math"

	"gaugeblock/spec"
)

// methods calls each method of alloc.Allocator. The weight is how often it is called.
var methods = map[string]struct {
	weight int
	call   func(k *worker)
}{
	"Malloc":       {30, (*worker).mallocAny},
	"Free":         {30, func(k *worker) { k.free(&k.cached, k.a.Free); k.free(&k.uncached, k.a.Free); k.freeTwice() }},
	"RecordStream": {10, (*worker).recordStream},
	"MallocAt":     {1, func(k *worker) { _ = k.a.MallocAt(spec.Request{Device: k.device(), Bytes: k.bytes()}, k.any()) }},
	"For":          {2, func(k *worker) { k.expect("For.EmptyCache", k.a.For(spec.Caller{Thread: k.thread}).EmptyCache()) }},
	"EmptyCache":   {2, func(k *worker) { k.expect("EmptyCache", k.a.EmptyCache()) }},
	"Close":        {1, func(k *worker) { k.expect("Close", k.a.Close()) }},
	"RawAlloc":     {2, func(k *worker) { d := k.device(); p, err := k.a.RawAlloc(d, k.bytes()); k.got(p, d, err) }},
	"RawAllocWithStream": {2, func(k *worker) {
		d := k.device()
		p, err := k.a.RawAllocWithStream(d, k.bytes(), k.stream(d))
		k.got(p, d, err)
	}},
	"RawDelete": {2, func(k *worker) { k.free(&k.cached, k.a.RawDelete); k.free(&k.uncached, k.a.RawDelete) }},
	"Enable":    {2, func(k *worker) { k.a.Enable(k.r.IntN(3) > 0) }},
	"Enabled":   {2, func(k *worker) { _ = k.a.Enabled() }},

	"Stats":                 {4, func(k *worker) { _, err := k.a.Stats(k.device()); k.expect("Stats", err) }},
	"MoreStats":             {2, func(k *worker) { _, err := k.a.MoreStats(k.device()); k.expect("MoreStats", err) }},
	"ResetPeakStats":        {2, func(k *worker) { k.expect("ResetPeakStats", k.a.ResetPeakStats(k.device())) }},
	"ResetAccumulatedStats": {2, func(k *worker) { k.expect("ResetAccumulatedStats", k.a.ResetAccumulatedStats(k.device())) }},
	"CacheInfo":             {2, func(k *worker) { _, err := k.a.CacheInfo(k.device(), uint64(k.r.IntN(2))); k.expect("CacheInfo", err) }},
	"Snapshot":              {1, func(k *worker) { _, err := k.a.Snapshot(); k.expect("Snapshot", err) }},
	"SnapshotPool":          {1, func(k *worker) { _, err := k.a.SnapshotPool(k.pool()); k.expect("SnapshotPool", err) }},
	"Inspect":               {1, func(k *worker) { k.expect("Inspect", k.a.Inspect(k.device(), everything())) }},
	"BaseAllocation":        {3, func(k *worker) { _, _, _ = k.a.BaseAllocation(k.any()) }},

	"Configure":         {3, (*worker).configure},
	"Config":            {3, func(k *worker) { _ = k.a.Config() }},
	"SetMemoryFraction": {1, func(k *worker) { k.expect("SetMemoryFraction", k.a.SetMemoryFraction(k.device(), 0.5+k.r.Float64()/2)) }},
	"SetReserveClass":   {1, func(k *worker) { k.expect("SetReserveClass", k.a.SetReserveClass(k.stream(k.device()), "c")) }},
	"SetDefaultReserve": {1, func(k *worker) { k.expect("SetDefaultReserve", k.a.SetDefaultReserve("c", 0.5)) }},
	"MemoryFraction":    {2, func(k *worker) { _, err := k.a.MemoryFraction(k.device()); k.expect("MemoryFraction", err) }},

	"RecordHistory":      {2, (*worker).recordHistory},
	"HistoryEnabled":     {3, func(k *worker) { _ = k.a.HistoryEnabled() }},
	"Annotate":           {3, func(k *worker) { k.a.Annotate(k.device(), []spec.AnnotationField{{Key: "a", Value: "b"}}) }},
	"PushCompileContext": {3, func(k *worker) { k.a.PushCompileContext(k.thread, "x") }},
	"PopCompileContext":  {3, func(k *worker) { k.a.PopCompileContext(k.thread) }},
	"SetUserMetadata":    {3, func(k *worker) { k.a.SetUserMetadata(spec.Thread(k.r.IntN(3)), "y") }},
	"UserMetadata":       {3, func(k *worker) { _ = k.a.UserMetadata(spec.Thread(k.r.IntN(3))) }},
	"OnTrace": {1, func(k *worker) {
		k.expect("OnTrace", k.rarely(func() error { return k.a.OnTrace(func(spec.HistoryEntry) {}) }))
	}},
	"OnNeedMemory": {1, func(k *worker) {
		k.expect("OnNeedMemory", k.rarely(func() error { return k.a.OnNeedMemory(func() bool { return true }) }))
	}},
	"AnnotateBlock": {3, func(k *worker) { _ = k.a.AnnotateBlock(k.any(), "z") }},
	"OnRejection": {1, func(k *worker) {
		k.expect("OnRejection", k.rarely(func() error { return k.a.OnRejection(func(spec.RejectionReport) {}) }))
	}},
	"OnOutOfMemory": {1, func(k *worker) {
		k.expect("OnOutOfMemory", k.rarely(func() error { return k.a.OnOutOfMemory(func(spec.OutOfMemoryReport) {}) }))
	}},

	"MarkCaptureBegin":         {1, func(k *worker) { k.expect("MarkCaptureBegin", k.a.MarkCaptureBegin(k.device())) }},
	"MarkCaptureEnd":           {1, func(k *worker) { _ = k.a.MarkCaptureEnd(k.device()) }},
	"CreatePool":               {2, func(k *worker) { k.createPool() }},
	"BeginAllocateToPool":      {2, func(k *worker) { _ = k.a.BeginAllocateToPool(k.device(), k.pool(), spec.ForThread(k.thread)) }},
	"EndAllocateToPool":        {4, func(k *worker) { _ = k.a.EndAllocateToPool(k.device(), k.pool()) }},
	"ReleasePool":              {4, func(k *worker) { _ = k.a.ReleasePool(k.device(), k.pool()) }},
	"PoolUseCount":             {2, func(k *worker) { _, _ = k.a.PoolUseCount(k.device(), k.pool()) }},
	"SetUseOnOOM":              {1, func(k *worker) { _ = k.a.SetUseOnOOM(k.device(), k.pool(), k.r.IntN(2) == 0) }},
	"SetNoSplit":               {1, func(k *worker) { _ = k.a.SetNoSplit(k.device(), k.pool()) }},
	"EmptyPool":                {1, func(k *worker) { _ = k.a.EmptyPool(k.pool()) }},
	"Checkpoint":               {2, (*worker).checkpoint},
	"Restore":                  {2, (*worker).restore},
	"CheckPoolLiveAllocations": {2, func(k *worker) { _, _ = k.a.CheckPoolLiveAllocations(k.device(), k.pool(), nil) }},

	"ExpandableSegmentSizes": {2, func(k *worker) {
		_, err := k.a.ExpandableSegmentSizes(k.device())
		k.expect("ExpandableSegmentSizes", err)
	}},
	"EnablePeerAccess": {1, (*worker).enablePeerAccess},
	"CopyKind":         {2, func(k *worker) { _, err := k.a.CopyKind(k.device(), k.device(), false); k.expect("CopyKind", err) }},
	"ShareHandle":      {3, func(k *worker) { _, _ = k.a.ShareHandle(k.any()) }},
	"OpenHandle":       {4, (*worker).openOrClose},
}

func isDriverError(err error) bool {
	var e *spec.DriverError
	var exhausted *spec.OutOfMemoryError
	var state *spec.InvalidStateError
	return errors.As(err, &e) || errors.As(err, &exhausted) || errors.As(err, &state)
}

func (k *worker) bytes() uint64 {
	sizes := []uint64{512, 4096, spec.MiB, 3 * spec.MiB, 12 * spec.MiB, 30 * spec.MiB}
	return sizes[k.r.IntN(len(sizes))]
}

func (k *worker) mallocAny() {
	dev := k.device()
	k.malloc(spec.Request{Device: dev, Stream: k.stream(dev), Bytes: k.bytes()})
}

// freeTwice frees a pointer that is not allocated: just an address of the host.
func (k *worker) freeTwice() {
	var wrong *spec.InvalidPointerError
	if err := k.a.Free(spec.Ptr(1)); !errors.As(err, &wrong) {
		k.fail("an address that was never allocated was freed")
	}
}

// recordStream records a use, on a stream of any device, and gives the stream work.
func (k *worker) recordStream() {
	dev := k.device()
	stream := k.stream(dev)
	if k.r.IntN(8) == 0 {
		_ = k.gpu.Busy(dev, stream)
	}
	_ = k.a.RecordStream(k.any(), dev, stream)
	if k.r.IntN(4) == 0 {
		_ = k.gpu.Drain(dev, stream)
	}
}

func (k *worker) configure() {
	settings := []string{
		"expandable_segments:True", "expandable_segments:False", "expandable_segments:False",
		"release_lock_on_cudamalloc:True", "release_lock_on_cudamalloc:False",
		"garbage_collection_threshold:0.5", "max_split_size_mb:40", "roundup_power2_divisions:4", "",
	}
	k.expect("Configure", k.a.Configure(settings[k.r.IntN(len(settings))]))
}

func (k *worker) recordHistory() {
	h := spec.HistoryOptions{Enabled: k.r.IntN(2) == 0, MaxEntries: 1 + k.r.IntN(20), Clear: k.r.IntN(4) == 0}
	if h.Enabled && k.r.IntN(2) == 0 {
		h.Level = spec.ContextAll
		h.Context = func() any { return 1 }
		h.Now = func() int64 { return 1 }
	}
	k.expect("RecordHistory", k.a.RecordHistory(h))
}

// rarely does it seldom: functions are never taken back.
func (k *worker) rarely(do func() error) error {
	if k.r.IntN(8) > 0 {
		return nil
	}
	return do()
}

func (k *worker) createPool() {
	_ = k.a.CreatePool(k.device(), k.pool(), spec.PoolOptions{UseOnOOM: k.r.IntN(2) == 0})
}

func (k *worker) checkpoint() {
	dev := k.device()
	if state, err := k.a.Checkpoint(dev, k.pool()); err == nil && len(k.states) < 4 {
		k.states = append(k.states, savedState{dev, state})
	}
}

// restore restores a pool on which nobody has anything: of others' pointers the worker knows
// nothing. So it does so in a pool of its own.
func (k *worker) restore() {
	dev, own := k.device(), spec.PoolID{User: 100 + uint64(k.thread)}
	if k.a.BeginAllocateToPool(dev, own, spec.ForThread(k.thread)) != nil {
		return
	}
	defer func() {
		k.expect("ending", k.a.EndAllocateToPool(dev, own))
		k.expect("releasing", k.a.ReleasePool(dev, own))
	}()
	p, err := k.a.Malloc(spec.Request{Device: dev, Bytes: 3 * spec.MiB, Thread: k.thread})
	if err == nil {
		if state, err := k.a.Checkpoint(dev, own); err == nil {
			delta, err := k.a.Restore(dev, state)
			if err == nil && len(delta.Created) > 1 {
				k.fail("a restore has allocated what was not there")
			}
			if err == nil && len(delta.Created) == 1 {
				p = delta.Created[0]
			}
		}
		k.got(p, dev, nil)
	}
}

func (k *worker) enablePeerAccess() {
	if a, b := k.device(), k.device(); a != b {
		_ = k.a.EnablePeerAccess(a, b)
	}
}

// openOrClose opens memory of the other process, or closes what it has opened.
func (k *worker) openOrClose() {
	if len(k.opened) > 2 || len(k.opened) > 0 && k.r.IntN(2) == 0 {
		m := k.opened[0]
		_ = m.Base()
		if err := m.Close(); err != nil {
			k.expect("closing", err)
			return
		}
		k.opened = k.opened[1:]
		return
	}
	if m, err := k.a.OpenHandle(k.device(), k.handles[k.r.IntN(len(k.handles))]); err == nil {
		k.opened = append(k.opened, m)
	}
}

// everything is a visitor that looks at everything.
func everything() spec.Visitor {
	sum := uint64(0)
	block := func(b *spec.BlockView) { sum += b.Size % math.MaxUint32 }
	return spec.Visitor{
		Block: block, Free: block, Unmapped: block,
		Pool: func(*spec.PoolView) {}, StreamUse: func(*spec.StreamUseView) {}, PendingEvent: func(*spec.PendingEventView) {},
		DeferredFree: func(*spec.DeferredFreeView) {}, Routing: func(spec.PoolID) {},
	}
}
