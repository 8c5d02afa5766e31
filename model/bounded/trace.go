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
)

// A path through the states can be replayed on an allocator: it is written as a trace with
// the model's result of each operation, for "gaugeblock replay".
//
// Traces have operations that block a stream (busy) and unblock it (drain), but none for
// one piece of work. So each piece of work gets an extra stream that is busy, and the
// stream of the work waits for that stream. A drain of the extra stream completes the
// piece. Addresses are not compared: the driver decides them.

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
	t := tracer{bounds: b, live: map[int]int64{}, holders: map[int][]int{}, checkpoints: map[int]savedState{}}
	t.header = trace.Header{
		Source: "model/bounded", Family: name, Devices: 1, Waits: true,
		TotalMemory: b.Memory, Settings: b.settings(), Geometry: b.Geometry,
		Streams: append([]spec.Stream{0}, b.Streams...), StatColumns: columns,
	}
	if b.Limit <= b.Memory {
		fraction := float64(b.Limit) / float64(b.Memory)
		t.ops = append(t.ops, trace.Op{Kind: trace.OpSetMemoryFraction, Fraction: fraction, Allowed: b.Limit})
	}
	for i := 1; i < len(steps); i++ {
		if err := t.step(steps[i-1].State, steps[i].Label, steps[i].State); err != nil {
			return t.header, nil, err
		}
	}
	return t.header, t.ops, nil
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

// tracer writes steps as operations of a trace.
type tracer struct {
	bounds          *Bounds
	header          trace.Header
	ops             []trace.Op
	mallocs         int64         // mallocs so far
	live            map[int]int64 // the ids of the allocated blocks, by address in units
	holders         map[int][]int // by stream: the busy streams that its pending work waits for, oldest first
	checkpoints     map[int]savedState
	checkpointCount int // number of the last checkpoint
}

// step appends the operations of a step.
func (t *tracer) step(from *model.State, label string, to *model.State) error {
	name, arguments, err := ParseLabel(label)
	if err != nil {
		return err
	}
	switch name {
	case "Malloc":
		t.malloc(from, to, arguments)
	case "Free":
		t.launchUses(from, arguments[0])
		t.add(to, trace.Op{Kind: trace.OpFree, ID: t.live[arguments[0]]})
		delete(t.live, arguments[0])
	case "RecordStream":
		t.add(to, trace.Op{Kind: trace.OpRecordStream, ID: t.live[arguments[0]], Stream: arguments[1]})
	case "Complete":
		oldest := t.holders[arguments[0]][0]
		t.add(to, trace.Op{Kind: trace.OpDrain, Stream: oldest})
	case "EmptyCache":
		t.add(to, trace.Op{Kind: trace.OpEmptyCache})
	default:
		if !t.poolStep(from, to, name, arguments) {
			return &spec.NotSupportedError{Op: "trace", Reason: label}
		}
	}
	t.dropCompleted(to)
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
	for text := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
		if text == "" {
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

// add appends an operation with the statistics that must follow it.
func (t *tracer) add(to *model.State, op trace.Op) {
	stats := to.Stats()
	figures := stats.Map()
	for _, column := range columns {
		op.Expect.Stats = append(op.Expect.Stats, figures[column])
	}
	t.ops = append(t.ops, op)
}

func (t *tracer) malloc(from, to *model.State, arguments []int) {
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
func (t *tracer) launch(stream int) {
	holder := len(t.header.Streams)
	t.header.Streams = append(t.header.Streams, spec.Stream(holder))
	t.ops = append(t.ops,
		trace.Op{Kind: trace.OpBusy, Stream: holder},
		trace.Op{Kind: trace.OpWaitStream, Stream: stream, On: holder})
	t.holders[stream] = append(t.holders[stream], holder)
}

// dropCompleted removes the holders of completed work.
func (t *tracer) dropCompleted(s *model.State) {
	for _, stream := range t.bounds.Streams {
		pieces := t.holders[int(stream)]
		t.holders[int(stream)] = pieces[len(pieces)-pendingWork(s, stream):]
	}
}

// launchUses launches the last uses of the memory at an address, like launchAndFree.
func (t *tracer) launchUses(s *model.State, address int) {
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
