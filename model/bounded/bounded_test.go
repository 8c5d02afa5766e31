package bounded_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
	"gaugeblock/tla"
)

// tiny is small enough for the plainest checks.
const tiny = `SPECIFICATION Spec
CONSTANTS
    MinBlock = 1
    SmallSize = 1
    SmallBuffer = 2
    MinLargeAlloc = 3
    LargeBuffer = 4
    RoundLarge = 2
    MaxSplitSize = 100
    MaxNonSplitRounding = 6
    ExpandableSegments = FALSE
    Memory = 2
    Limit = 100
    OwnWork = FALSE
    Streams = {1, 2}
    Sizes = {1}
INVARIANT NoReuseWhileInUse
CHECK_DEADLOCK FALSE
`

const tinyPools = tiny + `CONSTANTS
    PoolIds = {1}
    MaxUses = 1
    OverflowPools = {}
    RecordsTwice = FALSE
`

var tinies = map[string]string{"core": tiny, "pools": tinyPools}

func newCheck(t *testing.T, module string) *bounded.Check {
	c, err := tla.ReadConfig([]byte(tinies[module]), "tiny.cfg")
	if err != nil {
		t.Fatal(err)
	}
	check, err := bounded.NewCheck(module, c)
	if err != nil {
		t.Fatal(err)
	}
	return check
}

// everyState walks through all states in the plainest way.
func everyState(m bounded.Module, visit func(s *bounded.State)) {
	seen := map[string]bool{}
	queue := m.Initial()
	for ; len(queue) > 0; queue = queue[1:] {
		if key := string(m.Key(nil, queue[0])); !seen[key] {
			seen[key] = true
			visit(queue[0])
			m.Next(queue[0], func(_ int, next *bounded.State) { queue = append(queue, next) })
		}
	}
}

// TestKeyAndText: two states have one key exactly if they have one text; and the text
// is canonical.
func TestKeyAndText(t *testing.T) {
	for module := range tinies {
		m := newCheck(t, module).Module
		texts := map[string]bool{}
		states := 0
		everyState(m, func(s *bounded.State) {
			states++
			text := m.Text(nil, s)
			texts[string(text)] = true
			if again, err := tlc.CanonicalState(nil, text); err != nil || !bytes.Equal(again, text) {
				t.Fatalf("%s: the text is not canonical (%v):\n%s\n%s", module, err, text, again)
			}
		})
		if len(texts) != states {
			t.Errorf("%s: %d states have %d texts", module, states, len(texts))
		}
	}
}

// TestSymmetry: the classes of states, each counted with its members, are all states;
// and the variant of a state is a state, in the same class.
func TestSymmetry(t *testing.T) {
	for module := range tinies {
		m := newCheck(t, module).Module
		classes := explore.Explore(m, explore.Options[*bounded.State]{Symmetry: m.LeastKey})
		known := map[string]bool{}
		everyState(m, func(s *bounded.State) { known[string(m.Key(nil, s))] = true })
		states, own := 0, 0
		everyState(m, func(s *bounded.State) {
			states++
			variant := s.Rename(func(stream spec.Stream) spec.Stream { return 3 - stream })
			if !known[string(m.Key(nil, &variant))] {
				t.Fatalf("%s: no state:\n%s", module, m.Text(nil, &variant))
			}
			if !bytes.Equal(m.LeastKey(nil, s), m.LeastKey(nil, &variant)) {
				t.Fatalf("%s: two classes:\n%s\n%s", module, m.Text(nil, s), m.Text(nil, &variant))
			}
			if bytes.Equal(m.Key(nil, s), m.Key(nil, &variant)) {
				own++ // its own mirror image
			}
		})
		if classes.States != (states+own)/2 {
			t.Errorf("%s: %d classes of %d states, of which %d are symmetric to themselves", module, classes.States, states, own)
		}
	}
}

// TestSymmetryOfAll: states that differ only in the numbers of streams, pools and threads are
// all reachable or none of them. So the members of the classes are all states; and exploring
// one state of each class finds all classes.
func TestSymmetryOfAll(t *testing.T) {
	all := smallModules(t)
	for name, namings := range map[string]int{
		"three_streams": 6, "two_captures": 4, "two_checkpoints": 2, "two_step_events": 4, "checkpoint_streams": 2,
	} {
		t.Run(name, func(t *testing.T) {
			m := all[name]
			states, classes := map[string]bool{}, map[string]bool{}
			everyState(m, func(s *bounded.State) { states[string(m.Key(nil, s))] = true })
			everyState(m, func(s *bounded.State) {
				keys := m.(interface{ Keys(*bounded.State) []string }).Keys(s)
				if len(keys) != namings {
					t.Fatalf("%d namings, not %d", len(keys), namings)
				}
				for _, key := range keys {
					if !states[key] {
						t.Fatalf("no state has the key %x, and one has %x", key, keys[0])
					}
				}
				least := m.LeastKey(nil, s)
				if string(least) != slices.Min(keys) {
					t.Fatalf("%x is not the least of %x", least, keys)
				}
				classes[string(least)] = true
			})
			found := explore.Explore(m, explore.Options[*bounded.State]{Symmetry: m.LeastKey}).States
			if found != len(classes) || found == len(states) {
				t.Errorf("%d states in %d classes, of which %d were found", len(states), len(classes), found)
			}
		})
	}
}

// TestWorkers: the result does not depend on the number of workers.
func TestWorkers(t *testing.T) {
	for module := range tinies {
		check := newCheck(t, module)
		check.Options.Text = check.Module.Text
		var first explore.Result[*bounded.State]
		for workers := 1; workers <= 4; workers++ {
			check.Options.Workers = workers
			r := explore.Explore(check.Module, check.Options)
			if r.Violation != nil {
				r.Violation.Trace = nil // states are pointers
			}
			if workers == 1 {
				first = r
			}
			if first.StateDigest != r.StateDigest || first.EdgeDigest != r.EdgeDigest || first.Generated != r.Generated {
				t.Errorf("%s: %+v with 1 worker, %+v with %d", module, first, r, workers)
			}
		}
	}
}

// TestNewCheckErrors: a configuration that a module cannot have is an error.
func TestNewCheckErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"Memory = 2", "Memory = 200", "more than 255 addresses"},
		{"Memory = 2", "Memory = {}", "tiny.cfg:12: Memory is not a number"},
		{"Limit = 100", "Other = 100", "Other is not defined in Defaults.tla"},
		{"Limit = 100", "Threads = {1}", "Threads is not a constant of the model"},
		{"Limit = 100", "FreeBlock <- Other", "FreeBlock is not a constant of the model"},
		{"{1, 2}", "{1, 3}", "Streams is not 1..n"},
		{"{1}", "{0}", "a size is not in 1..255"},
		{"SmallSize = 1", "SmallSize = 3", "geometry: "},
		{"Spec\n", "OtherSpec\n", "the model has no specification OtherSpec"},
		{"NoReuseWhileInUse", "Nothing", "the model has no property Nothing"},
	} {
		cfg, err := tla.ReadConfig([]byte(strings.Replace(tiny, c.old, c.new, 1)), "tiny.cfg")
		if err == nil {
			_, err = bounded.NewCheck("core", cfg)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.new, err, c.want)
		}
	}
	for module, constant := range map[string]string{"pools": "PoolIds = {9}", "two_step": "Threads = {1, 9}"} {
		cfg, err := tla.ReadConfig([]byte(tiny+"CONSTANT "+constant), "tiny.cfg")
		if err == nil {
			_, err = bounded.NewCheck(module, cfg)
		}
		if err == nil || !strings.Contains(err.Error(), "has 9, which is not in 1..8") {
			t.Errorf("%s: %v", constant, err)
		}
	}
	if _, err := bounded.NewCheck("nothing", &tlc.Config{}); err == nil {
		t.Error("there is a module called nothing")
	}
}

// TestNextLeavesStatesAlone: a state stays what it is, whatever follows it.
func TestNextLeavesStatesAlone(t *testing.T) {
	for module := range tinies {
		m := newCheck(t, module).Module
		rapid.Check(t, func(t *rapid.T) {
			s := m.Initial()[0]
			for range 20 {
				before := m.Text(nil, s)
				var next []*bounded.State
				m.Next(s, func(_ int, n *bounded.State) { next = append(next, n) })
				if after := m.Text(nil, s); !bytes.Equal(before, after) {
					t.Fatalf("was\n%s\nand is\n%s", before, after)
				}
				s = rapid.SampledFrom(next).Draw(t, "next")
			}
		})
	}
}
