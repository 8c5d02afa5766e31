package whatif_test

import (
	"errors"
	"fmt"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/whatif"
	"gaugeblock/spec"
)

// A plan is a program that can be played under any settings and limits. What really
// happens then is compared with what is predicted from the snapshot of another play.
type plan struct {
	steps   []step
	onOOM   oomHabit
	context spec.ContextLevel // of the history: ContextNever records no call stacks
}

// oomHabit is what the program does when it is out of memory.
type oomHabit string

const (
	stops  oomHabit = "stops"
	skips  oomHabit = "goes on without the memory"
	halves oomHabit = "asks for half as much"
)

// step is one thing that a program does.
type step struct {
	kind  stepKind
	size  uint64 // bytes, of a malloc
	which int    // of a free: index into the live allocations, modulo their number
	line  int    // of the program
}

type stepKind int

const (
	mallocStep stepKind = iota
	freeStep
	emptyStep
	othersStep // other processes leave size bytes of the device free
)

// played is a play of a plan.
type played struct {
	file    *snapshot.File
	atEnd   whatif.Statistics
	atOOM   *whatif.Statistics // at the first OOM; nil if there was none
	failing uint64             // bytes of the request that failed first
	// invisible: the program called empty_cache when nothing was cached, of which the
	// history has nothing. Under other settings something may have been cached.
	invisible bool
	wentOn    bool // requests were made after the first OOM
}

// play plays a plan on a device of its own.
func (p *plan) play(settings string, l whatif.Limits) (*played, error) {
	const total = 1 << 40
	gpu := fakegpu.New(fakegpu.Config{
		Devices:   fakegpu.Devices(1, total),
		Addresses: func(spec.Device) fakegpu.AddressPolicy { return fakegpu.RealLike(0) },
	})
	if l.Device > 0 {
		gpu.SetFreeMemory(0, l.Device)
	}
	a, err := alloc.New(gpu, alloc.Options{Settings: settings})
	if err != nil {
		return nil, err
	}
	if l.Fraction > 0 {
		if err := a.SetMemoryFraction(0, (float64(l.Fraction)+0.5)/total); err != nil {
			return nil, err
		}
	}
	line, function := 0, "step"
	stack := func() any {
		return snapshot.Frames{{Filename: "site-packages/torch/x.py", Line: 1, Name: function}, {Filename: "train.py", Line: line, Name: "main"}}
	}
	history := spec.HistoryOptions{Enabled: true, MaxEntries: 1 << 20}
	if p.context > spec.ContextNever {
		history.Context, history.Level = stack, p.context
	}
	if err := a.RecordHistory(history); err != nil {
		return nil, err
	}
	result := &played{}
	var live []spec.Ptr
	for _, s := range p.steps {
		line, function = s.line, "step"
		switch s.kind {
		case othersStep:
			gpu.SetFreeMemory(0, s.size)
		case emptyStep:
			function = "empty_cache"
			before := statistics(a).DeviceFrees
			err = a.EmptyCache()
			result.invisible = result.invisible || statistics(a).DeviceFrees == before
		case freeStep:
			if len(live) == 0 {
				continue
			}
			i := s.which % len(live)
			err = a.Free(live[i])
			live = append(live[:i], live[i+1:]...)
		case mallocStep:
			var ptr spec.Ptr
			size := s.size
			for {
				result.wentOn = result.wentOn || result.atOOM != nil
				ptr, err = a.Malloc(spec.Request{Bytes: size})
				if !errors.Is(err, spec.ErrOutOfMemory) {
					break
				}
				if result.atOOM == nil {
					now := statistics(a)
					result.atOOM, result.failing = &now, size
				}
				if p.onOOM != halves || size < 4*spec.MiB {
					break
				}
				size /= 2
			}
			if err == nil {
				live = append(live, ptr)
			}
			if errors.Is(err, spec.ErrOutOfMemory) {
				err = nil
				if p.onOOM == stops {
					result.atEnd = statistics(a)
					result.file, err = fileOf(a)
					return result, err
				}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("a step: %w", err)
		}
	}
	result.atEnd = statistics(a)
	result.file, err = fileOf(a)
	return result, err
}

func statistics(a *alloc.Allocator) whatif.Statistics {
	s, err := a.Stats(0)
	if err != nil {
		panic(err)
	}
	return whatif.Statistics{
		PeakReserved: uint64(s.ReservedBytes[spec.Aggregate].Peak), PeakAllocated: uint64(s.AllocatedBytes[spec.Aggregate].Peak),
		Retries: s.NumAllocRetries, DeviceAllocs: s.NumDeviceAlloc, DeviceFrees: s.NumDeviceFree, OOMs: s.NumOOMs,
	}
}

// fileOf is the snapshot of an allocator as a file has it.
func fileOf(a *alloc.Allocator) (*snapshot.File, error) {
	s, err := a.Snapshot()
	if err != nil {
		return nil, err
	}
	f := &snapshot.File{
		Segments: s.Segments, DeviceTraces: make([][]snapshot.TraceEntry, len(s.Traces)), UnknownActions: make([][]snapshot.UnknownAction, len(s.Traces)),
		AllocatorSettings: &snapshot.AllocatorSettings{Config: a.Config()}, Version: snapshot.Version{Least: 10, Most: snapshot.Newest},
	}
	for i, trace := range s.Traces {
		for _, e := range trace {
			context := &snapshot.Context{}
			if frames, ok := e.Context.(snapshot.Frames); ok {
				context.Frames = frames
			}
			f.DeviceTraces[i] = append(f.DeviceTraces[i], snapshot.TraceEntry{TraceEntry: e.TraceEntry, TimeUS: int64(1000 + len(f.DeviceTraces[i])), Context: context})
		}
	}
	return f, nil
}
