package unbounded

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
	"gaugeblock/tla"
)

var all = flag.Bool("all", false, "take the steps of all small configurations")

// quick are the configurations of "go test".
var quick = []string{
	"three_streams", "expandable_tiny", "pools_tiny", "checkpoint_kept", "checkpoint_faults", "pool_faults_pages", "two_step_tiny",
	"own_work", "unmarked",
}

// TestStepsAreMoves: every step of the configurations is a sequence of moves, each of which
// is allowed in the state that the one before it leads to. The states satisfy the lemmas.
func TestStepsAreMoves(t *testing.T) {
	list, err := tla.Configurations()
	if err != nil {
		t.Fatal(err)
	}
	did, steps := map[string]int{}, 0
	for _, c := range list {
		isSmall := c.Size == "small" && c.Mirror != "" && c.Expect == "ok"
		if *all && isSmall || slices.Contains(quick, c.Name) {
			t.Run(c.Name, func(t *testing.T) { steps += takeSteps(t, c, did) })
		}
	}
	t.Logf("%d steps, %v", steps, did)
	for _, m := range moves {
		if did[m.name] == 0 {
			t.Errorf("no step has the move %s", m.name)
		}
	}
}

func takeSteps(t *testing.T, c tla.Configuration, did map[string]int) (steps int) {
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	check, err := bounded.NewCheck(c.Mirror, config)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := config.Numbers("Streams")
	if err != nil {
		t.Fatal(err)
	}
	var streams []spec.Stream
	for _, n := range numbers {
		streams = append(streams, spec.Stream(n))
	}
	options := explore.Options[*bounded.State]{Workers: 1}
	options.Steps = []explore.StepProperty[*bounded.State]{{Name: "StepsAreMoves", Holds: func(from *bounded.State, label int, to *bounded.State) bool {
		steps++
		s := step{streams: streams, from: from, to: to, label: check.Module.Labels()[label], did: did}
		if err := s.asMoves(); err != nil {
			t.Errorf("%s: %v\nfrom\n%s\nto\n%s", s.label, err, check.Module.Text(nil, from), check.Module.Text(nil, to))
		}
		return err == nil && !t.Failed()
	}}}
	explore.Explore(check.Module, options)
	t.Logf("%d steps", steps)
	return steps
}

// A step of the model.
type step struct {
	streams  []spec.Stream
	from, to *model.State
	label    string
	did      map[string]int

	world *world
	now   *structure
}

// asMoves makes the moves that lead from the first state to the last.
func (s *step) asMoves() error {
	s.world = newWorld(s.streams, s.from, s.to, func(p spec.Ptr) bool { return !s.keeps(p) })
	s.now = s.world.structureOf(s.from, false)
	for _, p := range lemmas {
		if s.now.compile(p.formula)(nil) == 0 {
			return fmt.Errorf("the first state breaks %s", p.name)
		}
	}
	want := s.world.structureOf(s.to, true)
	for _, part := range []func(want *structure) error{
		s.complete, s.free, s.resolve, s.completeEvents, s.releaseAndGrant, s.malloc, s.record, s.launch,
	} {
		if err := part(want); err != nil {
			return err
		}
	}
	return s.compare(want)
}

// action is the step's action with its arguments, without the caller's stream.
func (s *step) action() (name string, arguments []int) {
	name, arguments, _ = bounded.ParseLabel(s.label)
	name, arguments, _ = bounded.CurrentOf(name, arguments)
	return name, arguments
}

// keeps reports whether the allocation at an address is the same before and after the step.
func (s *step) keeps(p spec.Ptr) bool {
	before, g := blockAt(s.from, p)
	name, arguments := s.action()
	switch {
	case before == nil || before.State != spec.ActiveAllocated && !before.IsDeferred():
		return false
	case before.IsDeferred():
		after, _ := blockAt(s.to, p)
		return after != nil && after.IsDeferred()
	case name == "Free":
		after, _ := blockAt(s.to, p)
		return p != bounded.AddressBase+spec.Ptr(arguments[0]) || after != nil && after.IsDeferred()
	case name == "SetCheckpointPoolState":
		return g.Pool != bounded.PoolID(uint64(arguments[0]))
	}
	return true
}

func blockAt(s *model.State, p spec.Ptr) (*model.Block, *model.Segment) {
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			if s.Segments[i].Blocks[j].Address == p {
				return &s.Segments[i].Blocks[j], &s.Segments[i]
			}
		}
	}
	return nil, nil
}

// do makes a move. Each parameter is the table of its values.
func (s *step) do(name string, parameters ...[]int) error {
	i := slices.IndexFunc(moves, func(m move) bool { return m.name == name })
	m := &moves[i]
	for i, p := range m.parameters {
		s.now.kinds[p.name], s.now.values[p.name] = p, parameters[i]
	}
	if s.now.compile(m.guard)(nil) == 0 {
		return fmt.Errorf("the move %s %v is not allowed", name, parameters)
	}
	next := map[string][]int{}
	for _, f := range state {
		if text, changes := m.after[f.name]; changes {
			next[f.name] = s.now.table(&f, text)
		}
	}
	for name, values := range next {
		s.now.values[name] = values
	}
	s.did[name]++
	return nil
}

// table is a relation with the values of a formula.
func (m *structure) table(f *function, text string) []int {
	var names []string
	total := 1
	for _, s := range f.arguments {
		names = append(names, variables[s])
		total *= m.size[s]
	}
	value := m.compile(text, names...)
	table, arguments := make([]int, total), make([]int, len(names), len(names)+8)
	for i := range table {
		rest := i
		for n := len(names) - 1; n >= 0; n-- {
			arguments[n] = rest % m.size[f.arguments[n]]
			rest /= m.size[f.arguments[n]]
		}
		table[i] = value(arguments)
	}
	return table
}

func (s *step) complete(want *structure) error {
	for i := range s.world.pieces {
		if s.now.values["pending"][i] == 1 && want.values["pending"][i] == 0 {
			if err := s.do("Complete", []int{i}); err != nil {
				return err
			}
		}
	}
	return nil
}

// newWork has, for each stream, the piece of work that is launched next.
func (s *step) newWork() (pieces []int) {
	for _, stream := range s.world.streams {
		pieces = append(pieces, slices.Index(s.world.pieces, pieceKey{stream, launched(streamOf(s.from, stream))}))
	}
	return pieces
}

// newEvents has, for each stream, the event that is recorded there for a block, if that is
// not there already.
func (s *step) newEvents(block spec.Ptr) (events []int) {
	for _, stream := range s.world.streams {
		i := slices.Index(s.world.events, eventKey{stream, block, launched(streamOf(s.to, stream))})
		if s.now.values["outstanding"][i] == 1 {
			i = slices.Index(s.world.events, eventKey{stream: stream})
		}
		events = append(events, i)
	}
	return events
}

func (s *step) free(want *structure) (err error) {
	for i, a := range s.world.allocations {
		block, _ := blockAt(s.from, a.at)
		if a.isNew || block == nil || block.State != spec.ActiveAllocated || err != nil {
			continue
		}
		after, _ := blockAt(s.to, a.at)
		switch {
		case after != nil && after.IsDeferred():
			err = s.do("DeferFree", []int{i}, s.newWork())
		case !s.keeps(a.at):
			err = s.do("Free", []int{i}, s.newWork(), s.newEvents(a.at))
		}
	}
	return err
}

func (s *step) resolve(want *structure) (err error) {
	for i, a := range s.world.allocations {
		block, _ := blockAt(s.from, a.at)
		if !a.isNew && block != nil && block.IsDeferred() && !s.keeps(a.at) && err == nil {
			err = s.do("ResolveDeferred", []int{i}, s.newEvents(a.at))
		}
	}
	return err
}

func (s *step) completeEvents(want *structure) error {
	for i := range s.world.events {
		if s.now.values["outstanding"][i] == 1 && want.values["outstanding"][i] == 0 {
			if err := s.do("CompleteEvent", []int{i}); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing is the units that a relation has for a stream in one structure and not in another.
func (s *step) missing(name string, in, notIn *structure, stream int) (units []int, isAny bool) {
	for u := range s.world.units {
		is := in.values[name][u*len(s.world.streams)+stream] == 1 && notIn.values[name][u*len(s.world.streams)+stream] == 0
		units = append(units, truth(is))
		isAny = isAny || is
	}
	return units, isAny
}

func (s *step) releaseAndGrant(want *structure) error {
	for stream := range s.world.streams {
		if units, isAny := s.missing("granted", s.now, want, stream); isAny {
			if err := s.do("Release", units); err != nil {
				return err
			}
		}
	}
	for _, m := range []struct{ move, relation string }{{"Grant", "granted"}, {"Register", "segment"}} {
		for stream := range s.world.streams {
			if units, isAny := s.missing(m.relation, want, s.now, stream); isAny {
				if err := s.do(m.move, []int{stream}, units); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// malloc makes the allocations that are new.
func (s *step) malloc(want *structure) error {
	for i, a := range s.world.allocations {
		if !a.isNew {
			continue
		}
		var block, requested []int
		for u := range s.world.units {
			block = append(block, want.values["allocated"][u*len(s.world.allocations)+i])
			requested = append(requested, want.values["held"][u*len(s.world.allocations)+i])
		}
		if err := s.do("Malloc", []int{i}, block, requested); err != nil {
			return err
		}
	}
	return nil
}

func (s *step) record(want *structure) error {
	for relation, move := range map[string]string{"touched": "RecordStream", "captured": "RecordStreamInCapture"} {
		for i := range want.values[relation] {
			if want.values[relation][i] == 0 || s.now.values[relation][i] == 1 {
				continue
			}
			move := move
			if relation == "captured" && want.values["captureUses"][i] == 0 {
				move = "RecordStreamUnmarked"
			}
			if err := s.do(move, []int{i / len(s.streams)}, []int{i % len(s.streams)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// launch is work on the stream that memory was allocated for.
func (s *step) launch(*structure) error {
	name, arguments := s.action()
	if name != "Launch" {
		return nil
	}
	a := s.world.allocationAt(bounded.AddressBase+spec.Ptr(arguments[0]), false)
	stream := s.world.streamIndex(s.world.owner[s.world.allocations[a]])
	return s.do("Launch", []int{a}, []int{s.newWork()[stream]})
}

// compare compares what matters: what work uses while it is pending, and what is known of an
// event while it is outstanding.
func (s *step) compare(want *structure) error {
	for _, f := range state {
		for i, value := range want.values[f.name] {
			var matters bool
			switch last := i; f.name {
			case "works":
				matters = want.values["pending"][last/s.world.units] == 1
			case "covers":
				matters = want.values["outstanding"][last/s.world.units] == 1
			case "behind":
				e, w := last/len(s.world.pieces), last%len(s.world.pieces)
				matters = want.values["outstanding"][e] == 1 && want.values["pending"][w] == 1
			default:
				matters = true
			}
			if matters && s.now.values[f.name][i] != value {
				return fmt.Errorf("after the moves, %s of entry %d is %d, not %d", f.name, i, s.now.values[f.name][i], value)
			}
		}
	}
	return nil
}

// TestEveryVariableIsBound: a formula with a name that is not known is refused.
func TestEveryVariableIsBound(t *testing.T) {
	s := step{world: newWorld(nil, &model.State{}, &model.State{}, nil)}
	m := s.world.structureOf(&model.State{}, false)
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, `there is no "x"`) {
			t.Errorf("%s", text)
		}
	}()
	m.compile("(pending x)")
}
