package refinement

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/internal/allrows"
	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
	"gaugeblock/tla"
)

var (
	large = flag.String("large", "", "large configurations, of which every step is taken instead of those of the small ones")
	whole = flag.Bool("whole", false, "take every step of every small configuration, not only so many of each")
)

// mostEdges is how many edges are taken of a graph without -whole. Of graphs with failing driver calls,
// where each call counts, all are, or ten times as many.
func mostEdges() int {
	if allrows.Asked() {
		return 15_000
	}
	return 500
}

// TestEveryStepIsTaken: the allocator takes each edge of each small graph, to the state that
// it leads to in the model.
func TestEveryStepIsTaken(t *testing.T) {
	seen, after, taken := map[string]bool{}, callsAfter{}, 0
	for _, c := range configurations(t) {
		chosen := c.Size == "small"
		if *large != "" {
			chosen = slices.Contains(strings.Fields(*large), c.Name)
		}
		if !chosen || c.Mirror == "" || c.Expect != "ok" {
			continue
		}
		s := open(t, c.Mirror, c.Cfg, textOf(t, tla.Files, c.Cfg))
		if bounds := c.Mirror + " " + s.bounds(t); !seen[bounds] {
			seen[bounds] = true
			t.Run(c.Name, func(t *testing.T) {
				takeEveryStep(t, s, after)
				taken++
			})
		}
	}
	if taken == len(seen) && *large == "" {
		after.check(t)
	}
}

func configurations(t *testing.T) []tla.Configuration {
	list, err := tla.Configurations()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func textOf(t *testing.T, from embed.FS, file string) []byte {
	text, err := from.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// subject is a configuration with its module.
type subject struct {
	config *tlc.Config
	module bounded.Module
}

func open(t *testing.T, mirror, name string, text []byte) subject {
	config, err := tla.ReadConfig(text, name)
	if err != nil {
		t.Fatal(err)
	}
	check, err := bounded.NewCheck(mirror, config)
	if err != nil {
		t.Fatal(err)
	}
	return subject{config, check.Module}
}

// bounds are the constants that are not the default: where they are equal, so are the
// graphs of a module.
func (s subject) bounds(t *testing.T) string {
	var b strings.Builder
	for _, name := range s.config.Names() {
		value, err := s.config.Value(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s = %s\n", name, value)
	}
	return b.String()
}

func (s subject) begin(t rapid.TB) (*System, *bounded.State) {
	initial := s.module.Initial()[0]
	sys, err := NewSystem(initial, s.config)
	if err != nil {
		t.Fatal(err)
	}
	return sys, initial
}

func takeEveryStep(t *testing.T, s subject, after callsAfter) {
	edges := 0
	explored := explore.Explore(s.module, explore.Options[*bounded.State]{
		Edges:    true,
		Progress: func(r explore.Result[*bounded.State]) { edges = r.Edges },
		Stopped:  func() bool { return testing.Short() && edges > 5000 },
	})
	if explored.Stopped {
		t.Skipf("more than %d edges", edges)
	}
	graph, labels := explored.Graph, s.module.Labels()
	most := explored.Edges
	switch hasFaults := slices.ContainsFunc(labels, isFaulty); {
	case *whole || *large != "" || hasFaults && allrows.Asked():
	case hasFaults:
		most = min(most, 10*mostEdges())
	default:
		most = min(most, mostEdges())
	}
	taken := 0
	sys, initial := s.begin(t)
	known := make([]*bounded.State, graph.States())
	known[0] = initial
	steps := 0
	err := Tour(graph, func(from int, e explore.Edge, isNew bool) error {
		steps++
		if isNew {
			taken++
		}
		if taken > most {
			return errEnough
		}
		if known[e.To] == nil {
			addSuccessors(known, graph, s.module, from)
		}
		if !isNew && !isFaulty(labels[e.Label]) { // the states are compared after the next new edge
			return sys.Take(known[from], labels[e.Label], known[e.To])
		}
		return sys.Follow(s.module, known[from], labels[e.Label], known[e.To])
	}, func() error {
		sys.End()
		after.add(sys)
		sys, _ = s.begin(t)
		return nil
	})
	sys.End()
	after.add(sys)
	if err != nil && err != errEnough {
		t.Fatal(err)
	}
	t.Logf("%d states, %d of %d edges, in %d steps", graph.States(), most, edges, steps)
}

// errEnough ends a walk.
var errEnough = errors.New("enough edges are taken")

// addSuccessors adds to the known states those that the edges of a state lead to.
func addSuccessors(known []*bounded.State, g *explore.Graph, m bounded.Module, from int) {
	next := make([]*bounded.State, len(m.Labels()))
	m.Next(known[from], func(label int, s *bounded.State) { next[label] = s })
	for _, e := range g.From(from) {
		if known[e.To] == nil {
			known[e.To] = next[e.Label]
		}
	}
}

//go:embed testdata/bounds
var larger embed.FS

// TestEveryOperationIsAStep: every operation of a program is a step of the model, on devices
// that have too many states to explore.
func TestEveryOperationIsAStep(t *testing.T) {
	for _, b := range largerBounds(t) {
		t.Run(b.name, func(t *testing.T) {
			s := open(t, b.mirror, b.name, b.text)
			did := map[string]int{}
			rapid.Check(t, func(t *rapid.T) { runRandomly(t, s, did) })
			t.Log(did)
			for _, label := range s.module.Labels() {
				isTwoSteps := b.mirror == "callbacks" && actionOf(label) == "Malloc"
				if did[actionOf(label)] == 0 && !isTwoSteps {
					t.Errorf("%s was never done", actionOf(label))
				}
			}
		})
	}
}

// bounds are constants for a device that has too many states to explore.
type bounds struct {
	mirror, name string
	text         []byte
}

// largerBounds are the files of bounds, and the default ones with each boolean setting that no
// file sets.
func largerBounds(t *testing.T) (all []bounds) {
	files, err := larger.ReadDir("testdata/bounds")
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, f := range files {
		mirror := f.Name()[:strings.LastIndex(f.Name(), "_")]
		text := textOf(t, larger, "testdata/bounds/"+f.Name())
		all = append(all, bounds{mirror, f.Name(), text})
		addNames(t, set, text, f.Name())
	}
	return append(all, boundsOfBooleans(t, set)...)
}

// boundsOfBooleans are the default bounds with each boolean setting that is not set.
func boundsOfBooleans(t *testing.T, set map[string]bool) (all []bounds) {
	defaults := defaultsOf(t)
	base := string(textOf(t, larger, "testdata/bounds/core_default.cfg"))
	for _, name := range defaults.Names() {
		field, found := reflect.TypeFor[spec.Config]().FieldByName(name)
		if !found || field.Type.Kind() != reflect.Bool || set[name] {
			continue
		}
		value := "TRUE"
		if defaults.Value(name) == value {
			value = "FALSE"
		}
		text := strings.Replace(base, "CONSTANTS\n", fmt.Sprintf("CONSTANTS\n    %s = %s\n", name, value), 1)
		all = append(all, bounds{"core", "core_default.cfg with " + name, []byte(text)})
	}
	return all
}

// TestBoundsOfBooleans: a boolean setting that no file sets is set.
func TestBoundsOfBooleans(t *testing.T) {
	set := map[string]bool{}
	for _, b := range boundsOfBooleans(t, set) {
		addNames(t, set, b.text, b.name)
	}
	if !set["ExpandableSegments"] || len(boundsOfBooleans(t, set)) != 0 {
		t.Errorf("set are %v", set)
	}
}

func runRandomly(t *rapid.T, s subject, did map[string]int) {
	sys, state := s.begin(t)
	trace := []explore.Step[*bounded.State]{{State: state}}
	for range rapid.IntRange(1, 150).Draw(t, "length") {
		successors := bounded.Successors(s.module, state)
		label := draw(t, sys.possible(s.module, state, successors))
		next := successors[label]
		if err := sys.Follow(s.module, state, label, next); err != nil {
			t.Fatalf("%v\nafter\n%s", err, labels(trace))
		}
		did[actionOf(label)]++
		trace = append(trace, explore.Step[*bounded.State]{Label: label, State: next})
		state = next
	}
}

// actionOf is the name of a label's action.
func actionOf(label string) string {
	action, _, _ := strings.Cut(label, "(")
	return action
}

func labels(trace []explore.Step[*bounded.State]) string {
	var b strings.Builder
	for _, s := range trace {
		fmt.Fprintf(&b, "  %s\n", s.Label)
	}
	return b.String()
}

// possible lists the labels that a program can do, by action, most of them without the model.
func (sys *System) possible(m bounded.Module, s *bounded.State, successors map[string]*bounded.State) (labels map[string][]string) {
	labels = map[string][]string{}
	for _, label := range m.Labels() {
		if sys.canDo(s, successors, label) {
			labels[actionOf(label)] = append(labels[actionOf(label)], label)
		}
	}
	return labels
}

// draw draws a label. Actions that use memory are more frequent than those that release it.
func draw(t *rapid.T, possible map[string][]string) string {
	actions := slices.Sorted(maps.Keys(possible))
	for _, often := range []string{"Malloc", "Malloc", "Malloc", "Free", "RecordStream", "Complete"} {
		if len(possible[often]) > 0 {
			actions = append(actions, often)
		}
	}
	action := rapid.SampledFrom(actions).Draw(t, "action")
	return rapid.SampledFrom(possible[action]).Draw(t, "step")
}

func (sys *System) canDo(s *bounded.State, successors map[string]*bounded.State, label string) bool {
	name, n, err := bounded.ParseLabel(label)
	if err != nil {
		return false
	}
	switch name {
	case "Free":
		_, isAllocated := sys.allocatedAt(s, n[0])
		return isAllocated
	case "RecordStream":
		owner, isAllocated := sys.allocatedAt(s, n[0])
		// Some programs do not record a stream use before a capture and in it again:
		// no event waits for the earlier use then, but the unmapping of pages may.
		return isAllocated && owner != spec.Stream(n[1]) && successors[label] != nil
	case "Complete":
		return sys.gpu.Gates(0, spec.Stream(n[0])) > 0
	case "BeginAllocateToPool":
		for _, r := range sys.routed.routings {
			if r.Pool == bounded.PoolID(uint64(n[0])) || r.Stream == spec.Stream(n[1]) {
				return false
			}
		}
		return sys.useCount(n[0]) != 0 && sys.useCount(n[0]) < 3
	case "EndAllocateToPool":
		return sys.isRouted(n[0])
	case "EmptyPool", "Malloc", "MallocSearch", "CallbacksReturn", "Checkpoint", "SetCheckpointPoolState":
		// These have many preconditions in some modules, so the model decides.
		return successors[label] != nil
	case "ReleasePool":
		return !sys.isRouted(n[0]) && sys.useCount(n[0]) > 0
	}
	return true
}

// allocatedAt finds the stream of the allocated block at an address.
func (sys *System) allocatedAt(s *bounded.State, unit int) (owner spec.Stream, is bool) {
	for _, g := range s.Segments {
		for _, b := range g.Blocks {
			if b.Address == sys.address(unit) && b.State == spec.ActiveAllocated {
				return g.Stream, true
			}
		}
	}
	return 0, false
}

func (sys *System) isRouted(number int) bool {
	_, is := sys.routed.streamOf(bounded.PoolID(uint64(number)))
	return is
}

// useCount is the use count of a pool, -1 if there is no such pool.
func (sys *System) useCount(number int) int {
	count := -1
	sys.allocator.Inspect(0, spec.Visitor{Pool: func(p *spec.PoolView) {
		if p.ID == bounded.PoolID(uint64(number)) {
			count = p.UseCount
		}
	}})
	return count
}
