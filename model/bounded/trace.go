package bounded

import (
	"fmt"
	"strconv"
	"strings"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// A path through the states can be replayed on an allocator: it is written as a trace with
// the model's result of each operation, for "gaugeblock replay".
//
// Traces have operations that block a stream (busy) and unblock it (drain), but none for
// one piece of work. So each piece of work gets an extra stream that is busy, and the
// stream of the work waits for that stream. A drain of the extra stream completes the
// piece; then the extra stream can serve another piece. Addresses are not compared: the
// driver decides them.

// columns are the statistics that are compared after every operation.
var columns = []string{
	"allocated_bytes.all.current", "active_bytes.all.current",
	"reserved_bytes.all.current", "inactive_split_bytes.all.current",
}

// Trace is a path through states of these bounds as a trace.
func (b *Bounds) Trace(name string, steps []explore.Step[*model.State]) (trace.Header, []trace.Op, error) {
	if b.oversize() && b.Config.MaxNonSplitRounding < b.Config.LargeSegmentSize {
		return trace.Header{}, nil, &spec.NotSupportedError{
			Op: "trace", Reason: "settings do not allow max_non_split_rounding to be below the large segment size",
		}
	}
	t := b.Tracer(name)
	if t.Header.Release == "" {
		return trace.Header{}, nil, &spec.NotSupportedError{Op: "trace", Reason: "no release of PyTorch has these rules"}
	}
	t.forReplay = true
	for i := 1; i < len(steps); i++ {
		if err := t.Step(steps[i-1].State, steps[i].Label, steps[i].State); err != nil {
			return t.Header, nil, err
		}
	}
	return t.Header, t.Ops, nil
}

// Tracer is a Tracer that has written no step yet. What it writes is for a device whose frees
// do not wait for work, which a trace cannot ask for; no statistics are expected.
func (b *Bounds) Tracer(name string) *Tracer {
	t := &Tracer{bounds: b, live: map[int]int64{}, underWay: map[int]trace.Op{}, holders: map[int][]int{}, checkpoints: map[int]savedState{}}
	release, _ := upstream.OldestWith(b.Rules)
	t.Header = trace.Header{
		Source: "gaugeblock model/bounded", Release: release.Name, Family: name, Devices: 1, Waits: true,
		TotalMemory: b.Memory, Settings: b.settings(), Geometry: b.Geometry,
		Streams: append([]spec.Stream{0}, b.Streams...), StatColumns: columns,
	}
	if b.Limit <= b.Memory {
		fraction := float64(b.Limit) / float64(b.Memory)
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpSetMemoryFraction, Fraction: fraction, Allowed: b.Limit})
	}
	return t
}

// oversize reports whether the device has memory for a block of max_split_size.
func (b *Bounds) oversize() bool { return b.Config.MaxSplitSize <= 2*b.Memory }

// settings are those of the trace's header. Sizes in settings are in units (Geometry.MiB).
func (b *Bounds) settings() string {
	config := b.Config
	if !b.oversize() {
		config.MaxSplitSize, config.MaxNonSplitRounding = spec.Unlimited, config.LargeSegmentSize
	}
	return settings.Format(config, b.Geometry)
}

// A Tracer writes steps as operations of a trace, one step after the other.
type Tracer struct {
	Header trace.Header // its streams can become more with every step
	Ops    []trace.Op

	bounds          *Bounds
	forReplay       bool             // statistics are expected, and a free that would wait for work is an error
	mallocs         int64            // mallocs so far
	underWay        map[int]trace.Op // by thread: the malloc that it last began
	live            map[int]int64    // the ids of the allocated blocks, by address in units
	holders         map[int][]int    // by stream: the busy streams that its pending work waits for, oldest first
	idle            []int            // streams that were busy and are not any more
	checkpoints     map[int]savedState
	checkpointCount int  // number of the last checkpoint
	mapped          bool // pages were mapped
	current         *int // the current stream of the step; nil: the default one
}

// Step appends the operations of a step.
func (t *Tracer) Step(from *model.State, label string, to *model.State) error {
	name, arguments, err := ParseLabel(label)
	if err != nil {
		return err
	}
	name, arguments, t.current = CurrentOf(name, arguments)
	t.mapped = t.mapped || from.Config.ExpandableSegments && from.Reserved() > 0
	switch name {
	case "Malloc":
		t.malloc(from, to, arguments)
	case "Free":
		t.launchUses(from, arguments[0])
		t.add(to, trace.Op{Kind: trace.OpFree, ID: t.live[arguments[0]]})
		delete(t.live, arguments[0])
	case "Launch":
		_, g := blockAt(from, arguments[0])
		t.launch(int(g.Stream))
	case "RecordStream":
		t.add(to, trace.Op{Kind: trace.OpRecordStream, ID: t.live[arguments[0]], Stream: arguments[1]})
	case "Complete":
		oldest := t.holders[arguments[0]][0]
		t.add(to, trace.Op{Kind: trace.OpDrain, Stream: oldest})
	case "EmptyCache":
		t.add(to, trace.Op{Kind: trace.OpEmptyCache})
	case "EmptyPool":
		t.add(to, trace.Op{Kind: trace.OpEmptyCache, Pool: PoolID(uint64(arguments[0]))})
	case "Configure":
		t.add(to, trace.Op{Kind: trace.OpConfigure, Settings: MaxSplitSettings(uint64(arguments[0]))})
	default:
		if !t.poolStep(from, to, name, arguments) && !t.faultyStep(from, name, arguments) && !t.twoStep(from, name, arguments) {
			return &spec.NotSupportedError{Op: "trace", Reason: label}
		}
	}
	t.dropCompleted(to)
	if !t.forReplay {
		return nil
	}
	for _, stream := range t.bounds.Streams {
		if to.Counters.NumDeviceFree > from.Counters.NumDeviceFree && pendingWork(to, stream) > 0 {
			return &spec.NotSupportedError{Op: "trace", Reason: "a driver free waits for all work"}
		}
	}
	return nil
}

// ParseLabel parses a label: the name of an action, and its arguments.
func ParseLabel(label string) (name string, arguments []int, err error) {
	name, rest, _ := strings.Cut(label, "(")
	rest = strings.TrimSuffix(rest, ")")
	arguments = make([]int, 0, strings.Count(rest, ",")+1)
	for rest != "" {
		var text string
		if text, rest, _ = strings.Cut(rest, ","); text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return "", nil, fmt.Errorf("the label %q: %w", label, err)
		}
		arguments = append(arguments, n)
	}
	return name, arguments, nil
}

// CurrentOf splits the current stream off an action of CurrentStream.tla: what is left is the action
// that it stands for. It is nil for other actions.
func CurrentOf(name string, arguments []int) (action string, others []int, current *int) {
	action, is := strings.CutSuffix(name, "On")
	if !is {
		return name, arguments, nil
	}
	last := len(arguments) - 1
	return action, arguments[:last], &arguments[last]
}

// add appends an operation, in a trace for a replay with the statistics that must follow it.
func (t *Tracer) add(to *model.State, op trace.Op) {
	op.Current = t.current
	if t.forReplay {
		stats := to.Stats()
		figures := stats.Map()
		for _, column := range columns {
			op.Expect.Stats = append(op.Expect.Stats, figures[column])
		}
	}
	t.Ops = append(t.Ops, op)
}

func (t *Tracer) malloc(from, to *model.State, arguments []int) {
	stream, bytes := spec.Stream(arguments[0]), uint64(arguments[1])
	_, result := from.Malloc(stream, bytes, model.DriverResults{LowestFrom: AddressBase})
	op := trace.Op{Kind: trace.OpMalloc, ID: t.mallocs, Stream: arguments[0], Size: bytes}
	op.Expect.Error = trace.ErrorName(result.Err)
	if result.Err == nil {
		t.live[toUnits(result.Ptr)] = t.mallocs
	}
	t.mallocs++
	t.add(to, op)
}

// launch launches a piece of work in a stream.
func (t *Tracer) launch(stream int) {
	holder := len(t.Header.Streams)
	if n := len(t.idle); n > 0 {
		holder, t.idle = t.idle[n-1], t.idle[:n-1]
	} else {
		t.Header.Streams = append(t.Header.Streams, spec.Stream(holder))
	}
	t.Ops = append(t.Ops,
		trace.Op{Kind: trace.OpBusy, Stream: holder},
		trace.Op{Kind: trace.OpWaitStream, Stream: stream, On: holder})
	t.holders[stream] = append(t.holders[stream], holder)
}

// dropCompleted removes the holders of completed work.
func (t *Tracer) dropCompleted(s *model.State) {
	for _, stream := range t.bounds.Streams {
		pieces := t.holders[int(stream)]
		completed := len(pieces) - pendingWork(s, stream)
		t.idle = append(t.idle, pieces[:completed]...)
		t.holders[int(stream)] = pieces[completed:]
	}
}

// launchUses launches the last uses of the memory at an address, for which AppendUses has entries.
func (t *Tracer) launchUses(s *model.State, address int) {
	for _, x := range s.Truth.Touches {
		if toUnits(x.Ptr) == address && !x.Captured {
			t.launch(int(x.Stream.Stream))
		}
	}
}

// blockAt is the block at an address in units, and its segment.
func blockAt(s *model.State, address int) (found *model.Block, in *model.Segment) {
	everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		if toUnits(b.Address) == address {
			found, in = b, g
		}
		return true
	})
	return found, in
}
