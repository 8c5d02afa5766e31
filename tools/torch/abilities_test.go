package torch

import (
	"reflect"
	"strings"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
)

// both are what the tests of abilities need of an allocator.
type both interface {
	spec.Allocator
	spec.MemoryLimiter
	spec.Configurer
	spec.BaseAllocator
	spec.CacheInformer
	spec.HistoryRecorder
	spec.Observable
	spec.PrivatePools
	spec.Checkpointer
	spec.ExpandableSegments
	spec.SharedMemory
}

var _ both = (*alloc.Allocator)(nil)

// scene is an allocator with what the scene has told it to say.
type scene struct {
	t    *testing.T
	a    both
	gpu  *fakegpu.GPU
	said []any
}

// say records an answer and whether there was an error.
func (s *scene) say(answer any, err error) {
	s.said = append(s.said, answer, err != nil)
}

func (s *scene) malloc(bytes uint64, stream spec.Stream) spec.Ptr {
	s.t.Helper()
	p, err := s.a.Malloc(spec.Request{Bytes: bytes, Stream: stream})
	must(s.t, err)
	return p
}

// abilities are asked of both allocators, and answered equally. The operations of traces are
// compared elsewhere: these are questions that traces do not ask.
var abilities = map[string]struct {
	settings string
	from     string // the first release that has it; "": all
	play     func(s *scene)
}{
	"base allocation": {"", "", func(s *scene) {
		p, q := s.malloc(1000, 0), s.malloc(3000, 0)
		for _, at := range []spec.Ptr{p, q, 0x1234} {
			base, bytes, err := s.a.BaseAllocation(at)
			s.say([2]uint64{uint64(base), bytes}, err)
		}
	}},
	"cache info": {"", "", func(s *scene) {
		must(s.t, s.a.Free(s.malloc(30<<20, 0)))
		for _, atLeast := range []uint64{0, 1, 64 << 20} {
			n, err := s.a.CacheInfo(0, atLeast)
			s.say(n, err)
		}
	}},
	"memory fraction": {"", "", func(s *scene) {
		f, err := s.a.MemoryFraction(0)
		s.say(f, err)
		must(s.t, s.a.SetMemoryFraction(0, 0.25))
		f, err = s.a.MemoryFraction(0)
		s.say(f, err)
		s.say(nil, s.a.SetMemoryFraction(0, 1.5))
	}},
	"refused settings": {"", "", func(s *scene) {
		s.say(nil, s.a.Configure("max_split_size_mb:1"))
		s.say(nil, s.a.Configure("no_such_key:1"))
		s.say(nil, s.a.Configure("garbage_collection_threshold:0.5"))
	}},
	"use counts": {"", "", func(s *scene) {
		id := spec.PoolID{User: 7}
		must(s.t, s.a.CreatePool(0, id, spec.PoolOptions{}))
		must(s.t, s.a.BeginAllocateToPool(0, id, spec.ForThread(0)))
		p := s.malloc(512, 0)
		n, err := s.a.PoolUseCount(0, id)
		s.say(n, err)
		must(s.t, s.a.EndAllocateToPool(0, id))
		for _, live := range [][]spec.Ptr{nil, {p}, {p + 512}, {p, p + 512}} {
			same, err := s.a.CheckPoolLiveAllocations(0, id, live)
			s.say(same, err)
		}
		pool, err := s.a.SnapshotPool(id)
		s.say(trace.Layout(&pool), err)
		must(s.t, s.a.ReleasePool(0, id))
		n, err = s.a.PoolUseCount(0, id)
		s.say(n, err)
	}},
	"expandable segments": {"expandable_segments:True", "2.10", func(s *scene) {
		stream, err := s.gpu.CreateStream(0)
		must(s.t, err)
		s.malloc(100, stream)
		s.malloc(30<<20, stream)
		sizes, err := s.a.ExpandableSegmentSizes(0)
		s.say(sizes, err)
		base, bytes, err := s.a.BaseAllocation(s.malloc(100, stream))
		s.say([2]uint64{uint64(base), bytes}, err)
	}},
	"history": {"", "", func(s *scene) {
		s.say(s.a.HistoryEnabled(), nil)
		must(s.t, s.a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 5, Level: spec.ContextNever}))
		s.say(s.a.HistoryEnabled(), nil)
		for range 4 {
			must(s.t, s.a.Free(s.malloc(700, 0)))
		}
		picture, err := s.a.Snapshot()
		must(s.t, err)
		var entries []spec.TraceEntry
		for _, e := range picture.Traces[0] {
			if e.Action != spec.ActionSnapshot { // PyTorch's own counts as well
				entries = append(entries, e.TraceEntry)
			}
		}
		s.say(entries[len(entries)-3:], nil)
		must(s.t, s.a.RecordHistory(spec.HistoryOptions{MaxEntries: 1}))
		s.say(s.a.HistoryEnabled(), nil)
	}},
	"skipped actions": {"", "2.11", func(s *scene) {
		must(s.t, s.a.RecordHistory(spec.HistoryOptions{
			Enabled: true, MaxEntries: 100, Skip: []spec.Action{spec.ActionFreeRequested, spec.ActionSegmentAlloc},
		}))
		must(s.t, s.a.Free(s.malloc(700, 0)))
		picture, err := s.a.Snapshot()
		must(s.t, err)
		var actions []string
		for _, e := range picture.Traces[0] {
			if e.Action != spec.ActionSnapshot {
				actions = append(actions, e.Action.String())
			}
		}
		s.say(strings.Join(actions, " "), nil)
	}},
	"metadata": {"", "2.10", func(s *scene) {
		s.a.SetUserMetadata(0, "step 1")
		s.say(s.a.UserMetadata(0), nil)
		s.a.SetUserMetadata(0, "")
	}},
	"out of memory": {"", "", func(s *scene) {
		s.a.OnOutOfMemory(func(r spec.OutOfMemoryReport) { s.say(r, nil) })
		must(s.t, s.a.SetMemoryFraction(0, 0.5))
		_, err := s.a.Malloc(spec.Request{Bytes: 600 << 20})
		s.say(nil, err)
		must(s.t, s.a.SetMemoryFraction(0, 1))
		_, err = s.a.Malloc(spec.Request{Bytes: 2 << 30})
		s.say(nil, err)
	}},
	"sharing": {"", "", func(s *scene) {
		s.malloc(512, 0)
		h, err := s.a.ShareHandle(s.malloc(512, 0))
		s.say(h.Offset, err)
	}},
	"observers": {"", "", func(s *scene) {
		s.a.OnTrace(func(e spec.HistoryEntry) { s.say(e.TraceEntry, nil); s.say(e.Pool, nil) })
		must(s.t, s.a.Free(s.malloc(700, 0)))
	}},
}

func TestAbilities(t *testing.T) {
	open(t)
	for name, c := range abilities {
		t.Run(name, func(t *testing.T) {
			forReleases(t, c.from, "")
			play := func(factory perform.Factory) []any {
				gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, spec.GiB)})
				h := trace.Header{Geometry: spec.DefaultGeometry(), Devices: 1, Settings: c.settings, Release: built(t).Release().Name}
				a, err := factory(gpu, &h)
				must(t, err)
				s := &scene{t: t, a: a.(both), gpu: gpu}
				c.play(s)
				return s.said
			}
			ours, theirs := play(reference.New), play(New)
			if len(theirs) == 0 || !reflect.DeepEqual(ours, theirs) {
				t.Errorf("the reference says\n%v\nPyTorch\n%v", ours, theirs)
			}
		})
	}
}
