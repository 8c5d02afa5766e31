package alloc_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestTranscripts runs the conversations in testdata: each file shows a rule of the
// allocator, command by command, with what it did. In the answers s1, s2, … are
// segments in the order in which they were obtained, s1+4MiB an address in one.
// `go test ./alloc -rewrite` writes the answers anew; read the difference.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var c *conversation
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				c = newConversation(t, d)
				return ""
			}
			return c.answer(t, d)
		})
	})
}

// conversation is an allocator on a fake device that does as it is told.
type conversation struct {
	gpu       *fakegpu.GPU
	allocator *alloc.Allocator
	streams   []spec.Stream
	blocks    map[string]spec.Ptr
	segments  []spec.Range // as they were obtained
	states    map[string]spec.PoolState
	events    []spec.TraceEntry
}

// newConversation is the command `new [settings=…] [memory=…] [limit=…] [streams=…]`.
func newConversation(t *testing.T, d *datadriven.TestData) *conversation {
	t.Helper()
	memory := size(t, argument(d, "memory", "1GiB"))
	c := &conversation{
		gpu:    fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, memory)}),
		blocks: map[string]spec.Ptr{}, states: map[string]spec.PoolState{},
		streams: []spec.Stream{0},
	}
	for range number(t, argument(d, "streams", "2")) {
		s, err := c.gpu.CreateStream(0)
		if err != nil {
			t.Fatal(err)
		}
		c.streams = append(c.streams, s)
	}
	var err error
	c.allocator, err = alloc.New(c.gpu, alloc.Options{Settings: argument(d, "settings", "")})
	if err != nil {
		t.Fatal(err)
	}
	if limit := argument(d, "limit", ""); limit != "" {
		fraction := (float64(size(t, limit)) + 0.5) / float64(memory)
		if err := c.allocator.SetMemoryFraction(0, fraction); err != nil {
			t.Fatal(err)
		}
	}
	c.allocator.OnTrace(func(e spec.TraceEntry) { c.events = append(c.events, e) })
	return c
}

// answer runs a command and tells what the allocator did.
func (c *conversation) answer(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "layout":
		return c.layout(t)
	case "stats":
		return c.stats(t, d)
	case "pending":
		return c.pending(t)
	}
	c.events = nil
	err := c.do(t, d)
	var answer strings.Builder
	for _, e := range c.events {
		answer.WriteString(c.describe(e) + "\n")
	}
	if err != nil {
		fmt.Fprintf(&answer, "error: %v\n", err)
	}
	if answer.Len() == 0 {
		return "nothing\n"
	}
	return answer.String()
}

// do carries a command out.
func (c *conversation) do(t *testing.T, d *datadriven.TestData) error {
	t.Helper()
	stream := c.streams[number(t, argument(d, "stream", "0"))]
	pool := spec.PoolID{User: uint64(number(t, argument(d, "pool", "0")))}
	first := func() string { return d.CmdArgs[0].Key }
	switch d.Cmd {
	case "malloc": // malloc NAME SIZE [stream=N]
		p, err := c.allocator.Malloc(spec.Request{Stream: stream, Bytes: size(t, d.CmdArgs[1].Key)})
		c.blocks[first()] = p
		return err
	case "free":
		return c.allocator.Free(c.blocks[first()])
	case "record": // record NAME stream=N
		return c.allocator.RecordStream(c.blocks[first()], 0, stream)
	case "busy":
		return c.gpu.Busy(0, stream)
	case "drain":
		return c.gpu.Drain(0, stream)
	case "empty-cache":
		if pool.IsDefault() {
			return c.allocator.EmptyCache()
		}
		return c.allocator.EmptyPool(pool)
	case "configure":
		return c.allocator.Configure(first())
	case "pool-create": // pool-create pool=N [use-on-oom] [no-split]
		return c.allocator.CreatePool(0, pool, spec.PoolOptions{UseOnOOM: d.HasArg("use-on-oom"), NoSplit: d.HasArg("no-split")})
	case "pool-begin": // pool-begin pool=N stream=N
		return c.allocator.BeginAllocateToPool(0, pool, spec.ForStream(stream))
	case "pool-end":
		return c.allocator.EndAllocateToPool(0, pool)
	case "pool-release":
		return c.allocator.ReleasePool(0, pool)
	case "checkpoint": // checkpoint NAME pool=N
		state, err := c.allocator.Checkpoint(0, pool)
		c.states[first()] = state
		return err
	case "restore":
		_, err := c.allocator.Restore(0, c.states[first()])
		return err
	case "capture-begin": // capture-begin stream=N [mode=relaxed]
		mode := map[string]spec.CaptureMode{
			"global": spec.CaptureGlobal, "thread_local": spec.CaptureThreadLocal, "relaxed": spec.CaptureRelaxed,
		}[argument(d, "mode", "relaxed")]
		return c.gpu.BeginCapture(0, stream, mode)
	case "capture-end":
		_, err := c.gpu.EndCapture(0, stream)
		return err
	case "kernel":
		return c.gpu.Launch(spec.Launch{Stream: stream, Name: "kernel"})
	case "wait": // wait stream=N on=N
		return c.wait(stream, c.streams[number(t, argument(d, "on", "0"))])
	case "fail": // fail CALL [nth=N] [error=out_of_memory]
		return c.gpu.Inject(spec.FaultSpec{Call: first(), Nth: number(t, argument(d, "nth", "1")), Error: argument(d, "error", "unknown")})
	}
	t.Fatalf("%s: there is no command %q", d.Pos, d.Cmd)
	return nil
}

// wait makes a stream wait for another.
func (c *conversation) wait(stream, on spec.Stream) error {
	e, err := c.gpu.CreateEvent(0)
	if err != nil {
		return err
	}
	if err := c.gpu.RecordEvent(e, 0, on); err != nil {
		return err
	}
	if err := c.gpu.WaitEvent(0, stream, e); err != nil {
		return err
	}
	return c.gpu.DestroyEvent(e)
}

// describe is a diary entry in words.
func (c *conversation) describe(e spec.TraceEntry) string {
	switch e.Action {
	case spec.ActionSegmentAlloc:
		c.segments = append(c.segments, spec.Range{Ptr: e.Addr, Bytes: e.Size})
	case spec.ActionSegmentMap:
		if c.name(e.Addr) == e.Addr.String() {
			// The first mapping of an expandable segment is at its base.
			c.segments = append(c.segments, spec.Range{Ptr: e.Addr, Bytes: 1 << 40})
		}
	case spec.ActionOOM:
		return fmt.Sprintf("oom %s on %s", bytes(e.Size), c.streamName(e.Stream))
	}
	return fmt.Sprintf("%s %s %s on %s", e.Action, c.name(e.Addr), bytes(e.Size), c.streamName(e.Stream))
}

// name is an address in terms of the segments. The latest segment there counts: an
// address can come back.
func (c *conversation) name(p spec.Ptr) string {
	for i, s := range slices.Backward(c.segments) {
		if s.Contains(spec.Range{Ptr: p, Bytes: 1}) {
			if p == s.Ptr {
				return fmt.Sprintf("s%d", i+1)
			}
			return fmt.Sprintf("s%d+%s", i+1, bytes(uint64(p-s.Ptr)))
		}
	}
	return p.String()
}

func (c *conversation) streamName(s spec.Stream) string {
	return fmt.Sprintf("stream %d", slices.Index(c.streams, s))
}

// layout draws the memory, a segment a line.
func (c *conversation) layout(t *testing.T) string {
	t.Helper()
	snapshot, err := c.allocator.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, s := range snapshot.Segments {
		kind := "small"
		if s.Large {
			kind = "large"
		}
		if s.Expandable {
			kind += " expandable"
		}
		fmt.Fprintf(&out, "%s %s on %s", c.name(s.Address), kind, c.streamName(s.Stream))
		if !s.Pool.IsDefault() {
			fmt.Fprintf(&out, " pool %d", s.Pool.User)
		}
		out.WriteString(":")
		for _, b := range s.Blocks {
			mark := map[spec.BlockState]string{spec.Inactive: "free", spec.ActiveAllocated: "used", spec.ActivePendingFree: "pending"}[b.State]
			fmt.Fprintf(&out, " [%s %s]", mark, bytes(b.Size))
		}
		out.WriteString("\n")
	}
	if out.Len() == 0 {
		return "no memory\n"
	}
	return out.String()
}

// stats prints the figures whose keys are given.
func (c *conversation) stats(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	stats, err := c.allocator.Stats(0)
	if err != nil {
		t.Fatal(err)
	}
	all := stats.Map()
	var out strings.Builder
	for _, a := range d.CmdArgs {
		value, ok := all[a.Key]
		if !ok {
			t.Fatalf("%s: there is no figure %q", d.Pos, a.Key)
		}
		text := strconv.FormatInt(value, 10)
		if strings.Contains(a.Key, "bytes") {
			text = bytes(uint64(value))
		}
		fmt.Fprintf(&out, "%s %s\n", a.Key, text)
	}
	return out.String()
}

// pending lists what freed blocks wait for.
func (c *conversation) pending(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	err := c.allocator.Inspect(0, spec.Visitor{
		Pending:  func(p *spec.PendingView) { fmt.Fprintf(&out, "%s waits for %s\n", c.name(p.Block), c.streamName(p.Stream)) },
		Deferred: func(d *spec.DeferredView) { fmt.Fprintf(&out, "%s is put off, %d markers\n", c.name(d.Block), d.Markers) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return out.String()
}

// argument is the value of key=value, or what stands in for it.
func argument(d *datadriven.TestData, key, missing string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return strings.Join(a.Vals, ",")
		}
	}
	return missing
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// units, largest first.
var units = []struct {
	name string
	size uint64
}{{"GiB", spec.GiB}, {"MiB", spec.MiB}, {"KiB", spec.KiB}, {"B", 1}}

// size reads "5MiB", or sums like "20MiB+512B".
func size(t *testing.T, text string) (sum uint64) {
	t.Helper()
	for part := range strings.SplitSeq(text, "+") {
		known := false
		for _, u := range units {
			if digits, ok := strings.CutSuffix(part, u.name); ok {
				sum += uint64(number(t, digits)) * u.size
				known = true
				break
			}
		}
		if !known {
			t.Fatalf("%q is not a size", text)
		}
	}
	return sum
}

// bytes is the inverse of size.
func bytes(n uint64) string {
	if n == 0 {
		return "0B"
	}
	var parts []string
	for _, u := range units {
		if n >= u.size {
			parts = append(parts, fmt.Sprintf("%d%s", n/u.size, u.name))
			n %= u.size
		}
	}
	return strings.Join(parts, "+")
}
