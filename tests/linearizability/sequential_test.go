package linearizability_test

import (
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// With one thread, the reference allocator and the model agree on every result of every
// sequence of operations, with any settings. After each operation statistics and layouts
// are equal too.

// TestSequential compares the two, operation by operation.
func TestSequential(t *testing.T) {
	results := map[string]int{}
	for _, settings := range pairSettings {
		t.Run(settings, func(t *testing.T) { checkSequential(t, settings, results) })
	}
	t.Log(results)
	for _, name := range []string{"malloc", "malloc oom", "free", "free invalid_pointer", "record_stream", "empty_cache", "retry", "pending"} {
		if results[name] == 0 {
			t.Errorf("%s never happened", name)
		}
	}
}

func checkSequential(t *testing.T, settings string, results map[string]int) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t, settings)
		t.Repeat(map[string]func(*rapid.T){
			"malloc":              p.malloc,
			"malloc again":        p.malloc,
			"and again":           p.malloc,
			"free":                p.free,
			"free again":          p.free,
			"record_stream":       p.recordStream,
			"busy or drain":       p.hold,
			"empty_cache":         func(t *rapid.T) { p.do(t, model.Operation{Kind: trace.OpEmptyCache}) },
			"set_memory_fraction": p.limit,
			"configure":           p.configure,
			"":                    p.compare,
		})
		for name, n := range p.results {
			results[name] += n
		}
	})
}

// pair is an allocator and the model of it.
type pair struct {
	gpu       *fakegpu.GPU
	allocator *alloc.Allocator
	state     model.State
	ptrs      []spec.Ptr // every address that a malloc returned
	sizes     []uint64
	results   map[string]int
}

const pairMemory = 256 * mib

var pairStreams = []spec.Stream{0, 11, 12}

// pairSettings are the settings of a run, at the start and by configure.
var pairSettings = []string{
	"", "max_split_size_mb:20", "max_split_size_mb:24,max_non_split_rounding_mb:22", "garbage_collection_threshold:0.3",
	"garbage_collection_threshold:0.5,max_split_size_mb:30", "roundup_power2_divisions:4", "large_segment_size_mb:32",
	"roundup_power2_divisions:[1:2,4:8,>:4]",
}

// badSettings are errors.
const badSettings = "max_split_size_mb:1"

func newPair(t *rapid.T, text string) *pair {
	p := &pair{results: map[string]int{}}
	p.gpu = fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, pairMemory), Waits: fakegpu.WaitsDrain})
	for _, s := range pairStreams[1:] {
		if err := p.gpu.AddStream(0, s); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := settings.Parse(text, spec.DefaultGeometry())
	if err != nil {
		t.Fatal(err)
	}
	if p.allocator, err = alloc.New(p.gpu, alloc.Options{Settings: text}); err != nil {
		t.Fatal(err)
	}
	p.state = model.New(0, pairMemory, cfg, spec.DefaultGeometry(), upstream.Rules{})
	return p
}

// do does an operation on both. The model accepts the allocator's result, or says which one
// it requires.
func (p *pair) do(t *rapid.T, op model.Operation) (out model.Outcome) {
	switch op.Kind {
	case trace.OpMalloc:
		out.Ptr, out.Err = p.allocator.Malloc(spec.Request{Stream: op.Stream.Stream, Bytes: op.Bytes})
	case trace.OpFree:
		out.Err = p.allocator.Free(op.Ptr)
	case trace.OpRecordStream:
		out.Err = p.allocator.RecordStream(op.Ptr, op.Stream.Device, op.Stream.Stream)
	case trace.OpEmptyCache:
		out.Err = p.allocator.EmptyCache()
	case trace.OpSetMemoryFraction:
		out.Err = p.allocator.SetMemoryFraction(0, op.Fraction)
	case trace.OpConfigure:
		out.Err = p.allocator.Configure(op.Settings)
	case trace.OpBusy:
		out.Err = p.gpu.Busy(0, op.Stream.Stream)
	case trace.OpDrain:
		out.Err = p.gpu.Drain(0, op.Stream.Stream)
	}
	next, err := p.state.Step(op, out)
	if err != nil {
		t.Fatalf("%+v: %v\n%v", op, err, p.state)
	}
	p.state = next
	name := string(op.Kind)
	if out.Err != nil {
		name += " " + trace.ErrorName(out.Err)
	}
	p.results[name]++
	return out
}

// malloc draws a size near one at which a rule changes, or an earlier one.
func (p *pair) malloc(t *rapid.T) {
	boundaries := append([]uint64{
		1, 512, 1024, 4096, mib / 2, mib, 2 * mib, 9 * mib, 10 * mib, 12 * mib, 19 * mib, 20 * mib, 22 * mib, 24 * mib, 30 * mib,
		43 * mib, 100 * mib, spec.EiB,
	}, p.sizes...)
	bytes := rapid.SampledFrom(boundaries).Draw(t, "bytes")
	switch rapid.SampledFrom([]string{"exact", "exact", "above", "below"}).Draw(t, "nudge") {
	case "above":
		bytes++
	case "below":
		bytes--
	}
	stream := rapid.SampledFrom(pairStreams).Draw(t, "stream")
	out := p.do(t, model.Operation{Kind: trace.OpMalloc, Bytes: bytes, Stream: spec.DeviceStream{Stream: stream}})
	if out.Err == nil {
		p.ptrs = append(p.ptrs, out.Ptr)
		p.sizes = append(p.sizes, bytes)
	}
}

// pointer is an address that a malloc returned, probably a recent one, or an address inside
// or beside its block.
func (p *pair) pointer(t *rapid.T) spec.Ptr {
	if len(p.ptrs) == 0 {
		return 512
	}
	back := rapid.IntRange(1, len(p.ptrs)).Draw(t, "back")
	ptr := p.ptrs[len(p.ptrs)-back]
	if rapid.IntRange(0, 15).Draw(t, "stray") == 0 {
		ptr += 512
	}
	return ptr
}

func (p *pair) free(t *rapid.T) {
	p.do(t, model.Operation{Kind: trace.OpFree, Ptr: p.pointer(t)})
}

func (p *pair) recordStream(t *rapid.T) {
	stream := rapid.SampledFrom(pairStreams).Draw(t, "stream")
	p.do(t, model.Operation{Kind: trace.OpRecordStream, Ptr: p.pointer(t), Stream: spec.DeviceStream{Stream: stream}})
}

func (p *pair) hold(t *rapid.T) {
	kind := rapid.SampledFrom([]trace.OpKind{trace.OpBusy, trace.OpDrain}).Draw(t, "kind")
	stream := rapid.SampledFrom(pairStreams).Draw(t, "stream")
	p.do(t, model.Operation{Kind: kind, Stream: spec.DeviceStream{Stream: stream}})
}

func (p *pair) limit(t *rapid.T) {
	fraction := rapid.SampledFrom([]float64{1, 0.5, 0.25, 0.1, 0, 1.5}).Draw(t, "fraction")
	p.do(t, model.Operation{Kind: trace.OpSetMemoryFraction, Fraction: fraction})
}

func (p *pair) configure(t *rapid.T) {
	settings := rapid.SampledFrom(append(pairSettings, badSettings, releaseLock)).Draw(t, "settings")
	p.do(t, model.Operation{Kind: trace.OpConfigure, Settings: settings})
}

// compare compares the statistics and the snapshot.
func (p *pair) compare(t *rapid.T) {
	stats, err := p.allocator.Stats(0)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := p.allocator.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	out := model.Outcome{Stats: &stats, Layout: trace.Layout(&snapshot)}
	for _, kind := range []trace.OpKind{model.OpStats, model.OpSnapshot} {
		if _, err := p.state.Step(model.Operation{Kind: kind}, out); err != nil {
			t.Fatalf("%s: %v\n%v", kind, err, p.state)
		}
	}
	p.results["retry"] += int(stats.NumAllocRetries)
	p.results["pending"] += int(stats.Active[spec.Aggregate].Current - stats.Allocation[spec.Aggregate].Current)
}
