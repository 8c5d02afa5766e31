package tell_test

import (
	"errors"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// A plan is a program that can be played under any settings and limits. What really
// happens then is compared with what is predicted from the snapshot of another play.
type plan struct {
	steps   []step
	onOOM   oomHabit
	release string            // of PyTorch, whose rules the allocator follows; "": 2.11
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
	freeMadeStep // of what step number which has made, if it did
	emptyStep
	othersStep // other processes leave size bytes of the device free
)

// played is a play of a plan.
type played struct {
	file  *snapshot.File
	atEnd play.Statistics
	atOOM *play.Statistics // at the first OOM; nil if there was none
	// invisible: the program called empty_cache when nothing was cached, of which the
	// history has nothing. Under other settings something may have been cached.
	invisible    bool
	wentOn       bool            // requests were made after the first OOM
	without      bool            // the program could do without the first request that failed
	recording    bool            // it came so far
	before       play.Statistics // when the recording began
	failedBefore bool            // a request failed before the recording
}

// player plays a plan on a device of its own.
type player struct {
	*played
	gpu   *fakegpu.GPU
	alloc *alloc.Allocator
	live  []spec.Ptr
	made  map[int]spec.Ptr // by the number of the step
	at    int              // the number of the step
	now   *step
}

// play plays the plan under settings and limits.
func (p *plan) play(settings string, l history.Limits) (*played, error) {
	return p.playFrom(settings, l, 0)
}

// playFrom records the play from a step on, and counts from there.
func (p *plan) playFrom(settings string, l history.Limits, from int) (*played, error) {
	r, err := p.start(settings, l)
	if err != nil {
		return nil, err
	}
	for i := range p.steps {
		if i == from {
			if err := r.record(p.context); err != nil {
				return nil, err
			}
		}
		r.at, r.now = i, &p.steps[i]
		if ended, err := r.step(r.now, p.onOOM); err != nil {
			return nil, err
		} else if ended {
			break
		}
	}
	r.atEnd = r.statistics()
	r.file, err = fileOf(r.alloc)
	return r.played, err
}

// start makes the device and the allocator.
func (p *plan) start(settings string, l history.Limits) (*player, error) {
	const total = 1 << 40
	r := &player{played: &played{}, made: map[int]spec.Ptr{}, gpu: fakegpu.New(fakegpu.Config{
		Devices:   fakegpu.Devices(1, total),
		Addresses: func(spec.Device) fakegpu.AddressPolicy { return fakegpu.RealLike(0) },
	})}
	if l.Device > 0 {
		r.gpu.SetFreeMemory(0, l.Device)
	}
	var err error
	if r.alloc, err = alloc.New(r.gpu, alloc.Options{Settings: settings, Rules: p.rules()}); err != nil || l.Fraction == 0 {
		return r, err
	}
	return r, r.alloc.SetMemoryFraction(0, (float64(l.Fraction)+0.5)/total)
}

// record records the history from now on, and counts from here.
func (r *player) record(context spec.ContextLevel) error {
	r.recording, r.failedBefore, r.atOOM, r.wentOn = true, r.atOOM != nil, nil, false
	if err := r.alloc.ResetPeakStats(0); err != nil {
		return err
	}
	r.before = statistics(r.alloc)
	history := spec.HistoryOptions{Enabled: true, MaxEntries: 1 << 20}
	if context > spec.ContextNever {
		history.Level = context
		history.Context = func() any {
			function := "empty_like"
			if r.now.kind == emptyStep {
				function = "empty_cache"
			}
			return snapshot.Frames{{Filename: "site-packages/torch/x.py", Line: 1, Name: function}, {Filename: "train.py", Line: r.now.line, Name: "main"}}
		}
	}
	return r.alloc.RecordHistory(history)
}

// statistics are those since the recording began.
func (r *player) statistics() play.Statistics {
	s := statistics(r.alloc)
	s.Retries -= r.before.Retries
	s.DeviceAllocs -= r.before.DeviceAllocs
	s.DeviceFrees -= r.before.DeviceFrees
	s.OOMs -= r.before.OOMs
	return s
}

func (p *plan) rules() upstream.Rules {
	r, _ := upstream.Find(p.release)
	return r.Rules
}

// step does one step, and reports whether the program has ended.
func (r *player) step(s *step, onOOM oomHabit) (ended bool, err error) {
	switch s.kind {
	case othersStep:
		r.gpu.SetFreeMemory(0, s.size)
	case emptyStep:
		before := statistics(r.alloc).DeviceFrees
		err = r.alloc.EmptyCache()
		r.invisible = r.invisible || statistics(r.alloc).DeviceFrees == before
	case freeMadeStep:
		if ptr, there := r.made[s.which]; there {
			delete(r.made, s.which)
			err = r.alloc.Free(ptr)
		}
	case freeStep:
		if len(r.live) > 0 {
			i := s.which % len(r.live)
			err = r.alloc.Free(r.live[i])
			r.live = append(r.live[:i], r.live[i+1:]...)
		}
	case mallocStep:
		err = r.malloc(s.size, onOOM)
		if errors.Is(err, spec.ErrOutOfMemory) {
			return onOOM == stops, nil
		}
	}
	return false, err
}

func (r *player) malloc(size uint64, onOOM oomHabit) error {
	for {
		r.wentOn = r.wentOn || r.atOOM != nil
		ptr, err := r.alloc.Malloc(spec.Request{Bytes: size})
		if err == nil {
			r.live = append(r.live, ptr)
			r.made[r.at] = ptr
		}
		if !errors.Is(err, spec.ErrOutOfMemory) {
			return err
		}
		if r.atOOM == nil {
			now := r.statistics()
			r.atOOM = &now
		}
		if onOOM != halves || size < 4*spec.MiB {
			return err
		}
		size /= 2
	}
}

func statistics(a *alloc.Allocator) play.Statistics {
	s, err := a.Stats(0)
	if err != nil {
		panic(err)
	}
	return play.Statistics{
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
		AllocatorSettings: &snapshot.AllocatorSettings{Config: a.Config()}, Version: snapshot.Version{Least: 10, Most: 11},
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
