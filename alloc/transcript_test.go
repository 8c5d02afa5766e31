package alloc_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/internal/sizes"
	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// TestTranscripts runs the conversations in testdata: each file shows a rule of the
// allocator, command by command, with what it did. In the answers s1, s2, … are
// segments in the order in which they were obtained, or their addresses reserved;
// s1+4MiB is an address in one. `go test ./alloc -rewrite` rewrites the answers; check
// the difference.
//
// transcript_commands_test.go has the commands, transcript_views_test.go the views,
// transcript_words_test.go the words. After every command the allocator's structures
// are checked against all invariants, and its statistics against the device.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(filepath.ToSlash(path), "testdata/rapid") {
			return // what rapid writes of a failure
		}
		var c *conversation
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			line := line{t, d}
			if d.Cmd == "new" {
				c = newConversation(line)
				return ""
			}
			defer c.check(line)
			if view := views[d.Cmd]; view != nil {
				return orNothing(view(c, line))
			}
			command := commands[d.Cmd]
			if command == nil {
				t.Fatalf("%s: there is no command %q", d.Pos, d.Cmd)
			}
			return orNothing(c.answer(command, line))
		})
	})
}

// conversation is an allocator on a fake device, and what was said of them.
type conversation struct {
	gpu       watchedGPU
	allocator *alloc.Allocator
	streams   []spec.Stream
	blocks    map[string]spec.Ptr
	states    map[string]spec.PoolState
	checker   *invariant.Checker

	segments []spec.Range // as they were obtained or reserved
	answered []string     // what the allocator has done in this command so far
	calls    string       // the driver calls of the last command
	unsure   bool         // the free memory of the device may be less than expected: others use it, or it did not take pages back
}

// newConversation is the command `new [settings=…] [memory=…] [limit=…] [streams=…] [rules=…]
// [fabric] [patient]`. On a patient device a call that waits for a busy stream lets
// the stream catch up; else it fails.
func newConversation(l line) *conversation {
	memory := l.size(l.argument("memory", "1GiB"))
	device := fakegpu.DeviceConfig{TotalMemory: memory, Fabric: l.d.HasArg("fabric")}
	c := &conversation{
		blocks: map[string]spec.Ptr{}, states: map[string]spec.PoolState{},
		streams: []spec.Stream{0},
		checker: invariant.NewChecker(spec.DefaultGeometry()),
	}
	machine := fakegpu.Config{Devices: []fakegpu.DeviceConfig{device}}
	if l.d.HasArg("patient") {
		machine.Waits = fakegpu.WaitsDrain
	}
	c.gpu = watchedGPU{fakegpu.New(machine), c}
	for range l.number("streams", "2") {
		s, err := c.gpu.CreateStream(0)
		l.must(err)
		c.streams = append(c.streams, s)
	}
	var err error
	c.allocator, err = alloc.New(c.gpu, alloc.Options{Settings: l.argument("settings", ""), Rules: l.rules()})
	l.must(err)
	if limit := l.argument("limit", ""); limit != "" {
		l.must(c.limit(l.size(limit)))
	}
	c.allocator.OnTrace(c.addEntry)
	l.must(c.allocator.OnRejection(func(r spec.RejectionReport) {
		c.say("rejected: a segment of %s, %s reserved of %s", sizes.Format(r.SegmentSize), sizes.Format(r.Reserved), sizes.Format(r.DeviceTotal))
	}))
	return c
}

// limit sets the memory limit in bytes.
func (c *conversation) limit(bytes uint64) error {
	_, total, err := c.gpu.MemInfo(0)
	if err != nil {
		return err
	}
	return c.allocator.SetMemoryFraction(0, (float64(bytes)+0.5)/float64(total))
}

// answer runs a command and returns what the allocator did.
func (c *conversation) answer(command command, l line) string {
	c.answered = nil
	before := c.gpu.Calls()
	err := command(c, l)
	c.calls = difference(before, c.gpu.Calls())
	answer := c.answered
	if err != nil {
		answer = append(answer, "error: "+err.Error())
	}
	return strings.Join(answer, "\n")
}

func orNothing(answer string) string {
	if answer = strings.TrimSuffix(answer, "\n"); answer == "" {
		answer = "nothing"
	}
	return answer + "\n"
}

// addEntry writes a trace entry down.
func (c *conversation) addEntry(e spec.HistoryEntry) {
	switch e.Action {
	case spec.ActionSegmentAlloc:
		c.segments = append(c.segments, spec.Range{Ptr: e.Addr, Bytes: e.Size})
	case spec.ActionOOM:
		c.say("oom %s on %s", sizes.Format(e.Size), c.streamName(e.Stream))
		return
	}
	note := ""
	if e.UserMetadata+e.InternalMetadata != "" {
		note = fmt.Sprintf(" (user %q, internal %q)", e.UserMetadata, e.InternalMetadata)
	}
	c.say("%s %s %s on %s"+note, e.Action, c.name(e.Addr), sizes.Format(e.Size), c.streamName(e.Stream))
}

func (c *conversation) say(format string, args ...any) {
	c.answered = append(c.answered, fmt.Sprintf(format, args...))
}

// check checks the invariants, and the statistics against the device.
func (c *conversation) check(l line) {
	l.t.Helper()
	stats, err := c.allocator.Stats(0)
	l.must(err)
	violations, err := c.checker.Check(0, c.allocator, &stats)
	l.must(err)
	for _, v := range violations {
		l.t.Errorf("%s: %v", l.d.Pos, v)
	}
	if c.unsure || c.gpu.PendingFaults() > 0 {
		return
	}
	free, total, err := c.gpu.MemInfo(0)
	l.must(err)
	if held, reserved := total-free, uint64(stats.ReservedBytes[spec.Aggregate].Current); held != reserved {
		l.t.Errorf("%s: the device has allocated %s, the allocator counts %s", l.d.Pos, sizes.Format(held), sizes.Format(reserved))
	}
}

// watchedGPU reports address ranges to the conversation. They have no trace entries.
type watchedGPU struct {
	*fakegpu.GPU
	c *conversation
}

func (g watchedGPU) ReserveAddress(dev spec.Device, n uint64) (spec.Ptr, error) {
	p, err := g.GPU.ReserveAddress(dev, n)
	if err == nil {
		g.c.segments = append(g.c.segments, spec.Range{Ptr: p, Bytes: n})
		g.c.say("reserve %s %s", g.c.name(p), sizes.Format(n))
	}
	return p, err
}

func (g watchedGPU) FreeAddress(p spec.Ptr, n uint64) error {
	err := g.GPU.FreeAddress(p, n)
	if err == nil {
		g.c.say("unreserve %s %s", g.c.name(p), sizes.Format(n))
	}
	return err
}

// difference lists the calls that were made between two countings.
func difference(before, after []fakegpu.CallCount) string {
	made := map[string]uint64{}
	for _, n := range before {
		made[n.Call] = n.Count
	}
	var calls []string
	for _, n := range after {
		if times := n.Count - made[n.Call]; times > 0 {
			calls = append(calls, fmt.Sprintf("%s %d", n.Call, times))
		}
	}
	return strings.Join(calls, ", ")
}
