package linearizability

import (
	"fmt"
	"slices"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/internal/sizes"
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Operations of the abilities beside malloc and free. The names are those of traces, and for
// queries those of the methods.

// abilities are the methods of an allocator that has all of them.
func (x *execution) abilities() alloc.Abilities { return x.allocator.(alloc.Abilities) }

// poolID is the id of a program's private pool.
func poolID(n int) spec.PoolID { return spec.PoolID{Capture: uint64(n)} }

// required compares the result that the model requires with a call's.
func required(r model.Result, c *Call) error {
	if want, got := trace.ErrorName(r.Err), trace.ErrorName(c.Out.Err); want != got {
		return fmt.Errorf("the error is %q, not %q", want, got)
	}
	return nil
}

// byModel judges a call by an action of the model.
func byModel(do func(s model.State, c *Call, h *History) (model.State, model.Result)) func(*world, int, *action) error {
	return func(w *world, device int, a *action) error {
		next, r := do(w.devices[device], a.from, a.history)
		w.devices[device] = next
		return required(r, a.from)
	}
}

// poolKinds are those of private pools, captures and checkpoints.
var poolKinds = map[trace.OpKind]kind{
	trace.OpPoolCreate: {
		args: arguments{pool: true}, noTrace: true,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.abilities().CreatePool(c.Op.Device, poolID(c.Op.Pool), spec.PoolOptions{})
		},
		judge: byModel(func(s model.State, c *Call, _ *History) (model.State, model.Result) {
			return s.CreatePool(poolID(c.Op.Pool), false, false)
		}),
	},
	"pool_create_memory": {
		args: arguments{pool: true}, noTrace: true, judge: anything,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.abilities().CreatePool(c.Op.Device, poolID(c.Op.Pool), spec.PoolOptions{Memory: &ownMemory{}})
		},
	},
	trace.OpPoolBegin: {
		args: arguments{pool: true, stream: true}, noTrace: true,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.abilities().BeginAllocateToPool(c.Op.Device, poolID(c.Op.Pool), spec.ForStream(x.stream(&c.Op)))
		},
		judge: byModel(func(s model.State, c *Call, h *History) (model.State, model.Result) {
			return s.BeginAllocateToPool(poolID(c.Op.Pool), h.Setup.stream(c.Op.Device, c.Op.Stream))
		}),
	},
	trace.OpPoolEnd: {
		args: arguments{pool: true}, noTrace: true,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.abilities().EndAllocateToPool(c.Op.Device, poolID(c.Op.Pool))
		},
		judge: byModel(func(s model.State, c *Call, _ *History) (model.State, model.Result) {
			return s.EndAllocateToPool(poolID(c.Op.Pool))
		}),
	},
	trace.OpPoolRelease: {
		args: arguments{pool: true}, noTrace: true,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.abilities().ReleasePool(c.Op.Device, poolID(c.Op.Pool))
		},
		judge: byModel(func(s model.State, c *Call, _ *History) (model.State, model.Result) {
			return s.ReleasePool(poolID(c.Op.Pool))
		}),
	},
	"empty_pool": {
		args: arguments{pool: true}, allDevices: true, noTrace: true,
		do:    func(x *execution, c *Call) { c.Out.Err = x.abilities().EmptyPool(poolID(c.Op.Pool)) },
		judge: judgeEmptyPool,
	},
	"pool_use_count": {
		args: arguments{pool: true}, noTrace: true,
		do: func(x *execution, c *Call) {
			c.Answer, c.Out.Err = x.abilities().PoolUseCount(c.Op.Device, poolID(c.Op.Pool))
		},
		judge: func(w *world, device int, a *action) error {
			pools := w.devices[device].Pools
			i := slices.IndexFunc(pools, func(p model.Pool) bool { return p.ID == poolID(a.from.Op.Pool) })
			if i < 0 {
				return required(model.Result{Err: &spec.InvalidStateError{}}, a.from)
			}
			return answers(a.from, pools[i].UseCount)
		},
		result: func(c *Call) string { return fmt.Sprint(c.Answer) },
	},
	trace.OpCheckpoint: {
		args: arguments{pool: true}, makes: true, object: true, noTrace: true,
		do: func(x *execution, c *Call) {
			state, err := x.abilities().Checkpoint(c.Op.Device, poolID(c.Op.Pool))
			c.Made, c.Out.Err = state, err
		},
		judge: judgeCheckpoint,
	},
	trace.OpRestore: {
		uses: true, takes: "checkpoint", object: true, noTrace: true,
		do: func(x *execution, c *Call) {
			_, c.Out.Err = x.abilities().Restore(c.Op.Device, c.used.made.(spec.PoolState))
		},
		judge: judgeRestore,
	},
	trace.OpCaptureBegin: {
		args: arguments{stream: true}, noTrace: true, judge: anything,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.gpu.BeginCapture(c.Op.Device, x.stream(&c.Op), spec.CaptureRelaxed)
		},
	},
	"launch": {
		args: arguments{stream: true}, noTrace: true, judge: anything,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.gpu.Launch(spec.Launch{Device: c.Op.Device, Stream: x.stream(&c.Op)})
		},
	},
	trace.OpCaptureEnd: {
		args: arguments{stream: true}, noTrace: true, judge: anything,
		do: func(x *execution, c *Call) {
			_, c.Out.Err = x.gpu.EndCapture(c.Op.Device, x.stream(&c.Op))
		},
	},
}

// ownMemory is memory that a pool has instead of the driver's. Its addresses are not from a driver.
type ownMemory struct{ next spec.Ptr }

func (m *ownMemory) Allocate(_ spec.Device, bytes uint64, _ spec.Stream) (spec.Ptr, error) {
	m.next += spec.Ptr(bytes)
	return 1<<62 + m.next - spec.Ptr(bytes), nil
}

func (m *ownMemory) Free(spec.Device, spec.Ptr, uint64, spec.Stream) error { return nil }

// anything accepts every outcome and changes nothing: the operation is there for what it meets.
func anything(*world, int, *action) error { return nil }

// answers compares the answer of a query.
func answers(c *Call, want any) error {
	if c.Out.Err != nil {
		return fmt.Errorf("the error is %v", c.Out.Err)
	}
	if c.Answer != want {
		return fmt.Errorf("the answer is %v, not %v", want, c.Answer)
	}
	return nil
}

// objectKinds are those of uncached memory, of memory of other processes, and of texts.
var objectKinds = map[trace.OpKind]kind{
	trace.OpEnable: {
		args: arguments{settings: true}, object: true, noTrace: true,
		do: func(x *execution, c *Call) { x.abilities().Enable(c.Op.Settings == "on") },
		judge: func(w *world, _ int, a *action) error {
			w.uncaching = a.from.Op.Settings != "on"
			return nil
		},
	},
	"enabled": {
		object: true, noTrace: true,
		do:     func(x *execution, c *Call) { c.Answer = x.abilities().Enabled() },
		judge:  func(w *world, _ int, a *action) error { return answers(a.from, !w.uncaching) },
		result: func(c *Call) string { return fmt.Sprint(c.Answer) },
	},
	trace.OpShare: {
		uses: true, object: true, noTrace: true,
		do: func(x *execution, c *Call) {
			var h spec.SharedHandle
			h, c.Out.Err = x.abilities().ShareHandle(c.Ptr)
			c.Answer = sharedAnswer{string(h.Handle), h.Offset}
		},
		judge: judgeShare,
	},
	trace.OpOpenShared: {
		args: arguments{handle: true}, makes: true, object: true, noTrace: true,
		do: func(x *execution, c *Call) {
			opened, err := x.abilities().OpenHandle(c.Op.Device, x.handles[c.Op.Handle])
			if c.Out.Err = err; err == nil {
				c.Made, c.Out.Ptr = opened, opened.Base()
			}
		},
		judge:  judgeOpen,
		result: func(c *Call) string { return formatAddress(c.Out.Ptr) },
	},
	trace.OpCloseShared: {
		uses: true, takes: "opened", object: true, noTrace: true,
		do:    func(x *execution, c *Call) { c.Out.Err = c.used.made.(spec.OpenedMemory).Close() },
		judge: judgeClose,
	},
	"set_user_metadata": {
		args: arguments{settings: true}, object: true, noTrace: true,
		do: func(x *execution, c *Call) { x.abilities().SetUserMetadata(0, c.Op.Settings) },
		judge: func(w *world, _ int, a *action) error {
			w.metadata = a.from.Op.Settings
			return nil
		},
	},
	"user_metadata": {
		object: true, noTrace: true,
		do:     func(x *execution, c *Call) { c.Answer = x.abilities().UserMetadata(0) },
		judge:  func(w *world, _ int, a *action) error { return answers(a.from, w.metadata) },
		result: func(c *Call) string { return fmt.Sprintf("%q", c.Answer) },
	},
}

// otherKinds are statistics, settings, history and the rest.
var otherKinds = map[trace.OpKind]kind{
	"locked_stats": {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) {
			x.lock.during(c.Thread, func() { _, c.Out.Err = x.allocator.Stats(c.Op.Device) })
		},
	},
	"close": {
		allDevices: true, noTrace: true,
		do: func(x *execution, c *Call) { c.Out.Err = x.allocator.(interface{ Close() error }).Close() },
		judge: byModel(func(s model.State, _ *Call, _ *History) (model.State, model.Result) {
			return s.EmptyCache(), model.Result{}
		}),
	},
	trace.OpResetPeak: {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) { c.Out.Err = x.abilities().ResetPeakStats(c.Op.Device) },
	},
	trace.OpResetAccumulated: {
		noTrace: true,
		do:      func(x *execution, c *Call) { c.Out.Err = x.abilities().ResetAccumulatedStats(c.Op.Device) },
		judge: func(w *world, device int, a *action) error {
			n := &w.devices[device].Counters
			n.NumAllocRetries, n.NumOOMs, n.NumSyncAllStreams, n.NumDeviceAlloc, n.NumDeviceFree = 0, 0, 0, 0, 0
			return required(model.Result{}, a.from)
		},
	},
	"cache_info": {
		args: arguments{bytes: true}, noTrace: true,
		do: func(x *execution, c *Call) {
			c.Answer, c.Out.Err = x.abilities().CacheInfo(c.Op.Device, c.Op.Bytes)
		},
		judge:  judgeCacheInfo,
		result: func(c *Call) string { return sizes.Format(c.Answer.(uint64)) },
	},
	"config": {
		noTrace: true,
		do:      func(x *execution, c *Call) { c.Answer = x.abilities().Config() },
		judge:   func(w *world, device int, a *action) error { return answers(a.from, w.devices[device].Config) },
		result:  func(c *Call) string { return fmt.Sprintf("max_split_size=%d", c.Answer.(spec.Config).MaxSplitSize) },
	},
	"base_allocation": {
		uses: true, noTrace: true,
		do: func(x *execution, c *Call) {
			base, bytes, err := x.abilities().BaseAllocation(c.Ptr)
			c.Answer, c.Out.Err = spec.Range{Ptr: base, Bytes: bytes}, err
		},
		judge: judgeBaseAllocation,
	},
	"inspect": {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.abilities().Inspect(c.Op.Device, spec.Visitor{
				Block: func(*spec.BlockView) {}, Free: func(*spec.BlockView) {}, Unmapped: func(*spec.BlockView) {},
				Pool: func(*spec.PoolView) {}, StreamUse: func(*spec.StreamUseView) {}, PendingEvent: func(*spec.PendingEventView) {},
				DeferredFree: func(*spec.DeferredFreeView) {}, Routing: func(spec.PoolID) {},
			})
		},
	},
	"record_history": {
		args: arguments{settings: true}, noTrace: true, judge: anything,
		do: func(x *execution, c *Call) {
			options := spec.HistoryOptions{Enabled: c.Op.Settings != "off", MaxEntries: 4}
			if c.Op.Settings == "context" {
				options.Level, options.Context = spec.ContextAll, func() any { return 1 }
				options.Now = func() int64 { return 1 }
			}
			c.Out.Err = x.abilities().RecordHistory(options)
		},
	},
	"on_out_of_memory": {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.abilities().OnOutOfMemory(func(spec.OutOfMemoryReport) {})
		},
	},
	"on_trace": {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) {
			x.trackers++
			me := x.trackers
			c.Out.Err = x.abilities().OnTrace(func(e spec.HistoryEntry) {
				if x.tracked != nil {
					x.tracked[e.Device] = append(x.tracked[e.Device], me)
				}
			})
		},
	},
	"annotate": {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) { x.abilities().Annotate(c.Op.Device, nil) },
	},
	"push_compile_context": {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) { x.abilities().PushCompileContext(0, "a") },
	},
	"pop_compile_context": {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) { x.abilities().PopCompileContext(0) },
	},
	trace.OpPeerAccess: {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) { c.Out.Err = x.abilities().EnablePeerAccess(1-c.Op.Device, c.Op.Device) },
	},
	"copy_kind": {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) { _, c.Out.Err = x.abilities().CopyKind(1-c.Op.Device, c.Op.Device, false) },
	},
	"memory_fraction": {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) { c.Answer, c.Out.Err = x.abilities().MemoryFraction(c.Op.Device) },
	},
	"expandable_segment_sizes": {
		noTrace: true, judge: anything,
		do: func(x *execution, c *Call) { _, c.Out.Err = x.abilities().ExpandableSegmentSizes(c.Op.Device) },
	},
	trace.OpFault: {
		args: arguments{settings: true}, noTrace: true, judge: anything,
		do: func(x *execution, c *Call) {
			c.Out.Err = x.gpu.FailCall(c.Op.Settings, 1, fakegpu.UnknownError(c.Op.Settings))
		},
	},
	"snapshot_pool": {
		args: arguments{pool: true}, noTrace: true, judge: anything,
		do: func(x *execution, c *Call) { _, c.Out.Err = x.abilities().SnapshotPool(poolID(c.Op.Pool)) },
	},
}
