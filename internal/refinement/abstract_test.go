package refinement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/model"
	mapping "gaugeblock/model/abstract/refinement"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// abstractBounds are the programs that TestIsAbstractMemory runs: they launch work on the streams
// of their allocations too.
var abstractBounds = []struct{ name, constants string }{
	{"plain", "Memory = 8\n Sizes = {1, 2, 4}\n Streams = {1, 2, 3}\n"},
	{"rounded", "MinBlock = 2\n SmallSize = 2\n SmallBuffer = 4\n MinLargeAlloc = 6\n LargeBuffer = 8\n Memory = 8\n Sizes = {1, 3}\n"},
	{"expandable", "ExpandableSegments = TRUE\n MinLargeAlloc = 2\n LargeBuffer = 2\n Memory = 4\n Sizes = {1, 2}\n"},
}

// TestIsAbstractMemory: every operation of the code is a step of an abstract memory, under a mapping
// that asks the allocator for nothing: it has what the program did and what reached the driver.
// Allocators that are broken on purpose have others (tests/broken).
func TestIsAbstractMemory(t *testing.T) {
	for _, b := range abstractBounds {
		t.Run(b.name, func(t *testing.T) {
			s := open(t, "core", b.name, []byte("SPECIFICATION Spec\nCONSTANTS\n OwnWork = TRUE\n "+b.constants))
			b, err := bounded.ReadBounds(s.config)
			if err != nil {
				t.Fatal(err)
			}
			m := mapping.New(b)
			rapid.Check(t, func(t *rapid.T) { runAbstractly(t, s, m) })
		})
	}
}

func runAbstractly(t *rapid.T, s subject, m *mapping.Mapping) {
	sys, _ := s.begin(t)
	var did []string
	from := sys.truth()
	for range rapid.IntRange(1, 80).Draw(t, "length") {
		label := draw(t, sys.programs(s.module.Labels(), from))
		did = append(did, label)
		if err := sys.Do(label); err != nil {
			t.Fatalf("%s fails: %v\nafter %s", label, err, strings.Join(did, ", "))
		}
		to := sys.truth()
		if !m.IsStep(from, to, nil, nil) {
			t.Fatalf("no step of an abstract memory:\n%s\nfrom %s\nto %s", strings.Join(did, ", "), inWords(from), inWords(to))
		}
		if name, n, _ := bounded.ParseLabel(label); name == "Malloc" && len(to.Truth.Held) == len(from.Truth.Held) && !m.MayFail(from, uint64(n[1])) {
			t.Fatalf("an abstract memory can serve what fails: %s\nafter %s\nfrom %s", label, strings.Join(did, ", "), inWords(from))
		}
		from = to
	}
}

// truth is what the program and the device did, and the work that is pending.
func (sys *System) truth() *bounded.State {
	s := *sys.record
	for _, stream := range sys.streams() {
		q := sys.driver.queues[stream]
		work := model.Stream{ID: spec.DeviceStream{Stream: stream}, Work: slices.Clone(q.work[q.completed():])}
		s.Streams = append(s.Streams, work)
	}
	return &s
}

// programs lists the labels that a program can do with what it holds, by action.
func (sys *System) programs(all []string, s *bounded.State) (labels map[string][]string) {
	labels = map[string][]string{}
	for _, label := range all {
		name, n, err := bounded.ParseLabel(label)
		if err != nil {
			continue
		}
		can := true
		switch name {
		case "Free", "RecordStream", "Launch":
			can = false
			for _, h := range s.Truth.Held {
				can = can || h.Ptr == sys.address(n[0]) && (name != "RecordStream" || h.Stream != spec.Stream(n[1]))
			}
		case "Complete":
			can = sys.gpu.Gates(0, spec.Stream(n[0])) > 0
		}
		if can {
			labels[name] = append(labels[name], label)
		}
	}
	return labels
}

func inWords(s *bounded.State) string {
	return fmt.Sprintf("held %v, touches %v, granted %v, pending %v", s.Truth.Held, s.Truth.Touches, s.Truth.Granted, s.Streams)
}
