package invariant_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
	"gaugeblock/spec/invariant"
	"gaugeblock/spec/trace"
)

// Histories are told by transcripts in testdata/history: a line is something that
// happened, and what follows a command is what the history has against it since
// the command before.
//
//	given at=A [bytes=N] [stream=S] [thread=T] [dev=D] [uncached]
//	freed at=A
//	recorded at=A stream=S
//	work stream=S
//	completed stream=S to=N
//	synchronized stream=S | dev=D | event=E
//	waits stream=S on=S2 | event=E
//	event=E stream=S                  (an event is recorded)
//	capture stream=S, capture-end stream=S
//	pool create|end|release pool=P, pool begin pool=P by=thread|stream|capture [stream=S] [thread=T]
//	segments pool=P at=A bytes=N      (the snapshot from now on has one segment more)
//	no-segments
func TestHistory(t *testing.T) {
	datadriven.Walk(t, "testdata/history", func(t *testing.T, path string) {
		s := historyTranscript{history: invariant.NewHistory()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return s.run(t, d)
		})
	})
}

// historyTranscript is a history as it is told.
type historyTranscript struct {
	history  *invariant.History
	snapshot spec.Snapshot
	told     map[string]bool
}

func (s *historyTranscript) run(t *testing.T, d *datadriven.TestData) string {
	if d.Cmd != "story" {
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		words := strings.Fields(line)
		s.step(t, d, newStoryStep(t, d, words))
		for _, v := range s.findings(t) {
			fmt.Fprintf(&out, "%s\n    %s: %s\n", line, v.Invariant, v.Sentence)
		}
	}
	if out.Len() == 0 {
		return "ok\n"
	}
	return out.String()
}

// findings are those that were not there before.
func (s *historyTranscript) findings(t *testing.T) (fresh []invariant.Violation) {
	o := &invariant.Observation{Geometry: spec.DefaultGeometry(), Snapshot: &s.snapshot, History: s.history}
	violations, err := invariant.CheckAll(o)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, v := range violations {
		switch v.Invariant {
		case "LiveBlocksDisjoint", "NoReuseWhileInUse", "CapturedMemoryIsKept":
			told[v.Sentence] = true
			if !s.told[v.Sentence] {
				fresh = append(fresh, v)
			}
		}
	}
	s.told = told
	return fresh
}

// storyStep is one line.
type storyStep struct {
	verb string
	sub  string
	args map[string]uint64
	by   trace.PoolFilter
}

func newStoryStep(t *testing.T, d *datadriven.TestData, words []string) storyStep {
	p := storyStep{args: map[string]uint64{}}
	for i, word := range words {
		name, value, isArg := strings.Cut(word, "=")
		var n uint64
		switch {
		case isArg && name == "by":
			p.by = trace.PoolFilter(value)
			continue
		case isArg:
			if _, err := fmt.Sscan(value, &n); err != nil {
				d.Fatalf(t, "%s: %v", word, err)
			}
			p.args[name] = n
		case i == 1:
			p.sub = word
		}
		if i == 0 {
			p.verb = name
		}
	}
	return p
}

func (p *storyStep) stream() spec.Stream       { return spec.Stream(p.args["stream"]) }
func (p *storyStep) device() spec.Device       { return spec.Device(p.args["dev"]) }
func (p *storyStep) at() spec.Ptr              { return spec.Ptr(p.args["at"]) }
func (p *storyStep) event() spec.EventHandle   { return spec.EventHandle(p.args["event"]) }
func (p *storyStep) has(name string) (is bool) { _, is = p.args[name]; return is }

func (s *historyTranscript) step(t *testing.T, d *datadriven.TestData, p storyStep) {
	h := s.history
	switch p.verb {
	case "given":
		h.Allocated(invariant.Allocation{
			Device: p.device(), Stream: p.stream(), Thread: spec.Thread(p.args["thread"]),
			Ptr: p.at(), Bytes: max(p.args["bytes"], 1), Uncached: p.sub == "uncached",
		})
	case "freed":
		h.Freed(p.at())
	case "recorded":
		h.StreamRecorded(p.at(), p.device(), p.stream())
	case "work":
		h.Submitted(p.device(), p.stream())
	case "completed":
		h.Completed(p.device(), p.stream(), happensbefore.Position(p.args["to"]))
	case "synchronized":
		s.synchronized(&p)
	case "waits":
		if p.has("event") {
			h.EventWaited(p.event(), p.device(), p.stream())
		} else {
			h.StreamWaited(p.device(), p.stream(), p.device(), spec.Stream(p.args["on"]))
		}
	case "event":
		h.EventRecorded(p.event(), p.device(), p.stream())
	case "capture":
		h.CaptureBegun(p.device(), p.stream())
	case "capture-end":
		h.CaptureEnded(p.device(), p.stream())
	case "pool":
		s.pool(t, d, &p)
	case "segments":
		s.snapshot.Segments = append(s.snapshot.Segments, spec.Segment{
			Pool: spec.PoolID{User: p.args["pool"]}, Address: p.at(), TotalSize: p.args["bytes"],
		})
	case "first-routing-wins":
		h.FirstRoutingWins = true
	case "no-segments":
		s.snapshot.Segments = nil
	default:
		d.Fatalf(t, "unknown step %q", p.verb)
	}
}

func (s *historyTranscript) synchronized(p *storyStep) {
	switch {
	case p.has("event"):
		s.history.EventSynchronized(p.event())
	case p.has("stream"):
		s.history.StreamSynchronized(p.device(), p.stream())
	default:
		s.history.DeviceSynchronized(p.device())
	}
}

func (s *historyTranscript) pool(t *testing.T, d *datadriven.TestData, p *storyStep) {
	h, id := s.history, spec.PoolID{User: p.args["pool"]}
	switch p.sub {
	case "create":
		h.PoolCreated(p.device(), id)
	case "begin":
		h.PoolBegun(p.device(), id, p.by, spec.Thread(p.args["thread"]), p.stream())
	case "end":
		h.PoolEnded(p.device(), id)
	case "release":
		h.PoolReleased(p.device(), id)
	default:
		d.Fatalf(t, "unknown step pool %q", p.sub)
	}
}
