package refinement

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/internal/allrows"
	"gaugeblock/internal/race"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
	"gaugeblock/tla"
	"gaugeblock/tools/reference"
)

// unreachable has the labels that no configuration can reach, and why.
var unreachable = map[conformance.Label]string{
	conformance.CallbackFreed:  "a trace of the model has no callbacks",
	conformance.TooLarge:       "nor sizes that no device has",
	conformance.Uncached:       "nor the uncached mode",
	conformance.NoSplitWhole:   "nor pools that do not split blocks",
	conformance.ReusedInGraph:  "nor graph_capture_record_stream_reuse",
	conformance.PoolEmptied:    "nor deleting a pool of the program's own",
	conformance.KernelAcross:   "nor a second device",
	conformance.CopyAcross:     "nor a second device",
	conformance.MallocCaptured: "in a trace of the model requests are routed to a pool, but nothing is captured",
}

// TestLabels: random walks through the states of the configurations reach all labels of the
// reference, except those that need actions which the configurations do not have.
func TestLabels(t *testing.T) {
	if race.Enabled {
		t.Skip("a thousand walks, of one thread")
	}
	reached := conformance.Coverage{}
	for _, c := range configurations(t) {
		if c.Mirror != "" && !strings.HasPrefix(c.Mirror, "two_step") && c.Expect == "ok" {
			reached.Add(labelsOf(t, open(t, c.Mirror, c.Cfg, textOf(t, tla.Files, c.Cfg)), c.Name))
		}
	}
	for _, b := range largerBounds(t) {
		reached.Add(labelsOf(t, open(t, b.mirror, b.name, b.text), b.name))
	}
	t.Log(reached)
	for _, label := range conformance.AllLabels() {
		_, isUnreachable := unreachable[label]
		switch {
		case reached[label] == 0 && !isUnreachable:
			t.Errorf("%s is reached by no walk", label)
		case reached[label] > 0 && isUnreachable:
			t.Errorf("%s is reached, and should not be: %s", label, unreachable[label])
		}
	}
}

func labelsOf(t *testing.T, s subject, name string) conformance.Coverage {
	reached := conformance.Coverage{}
	choices := rand.New(rand.NewPCG(1, 2))
	walks := 12
	if allrows.Asked() {
		walks = 40
	}
	for range walks {
		h, ops, err := s.module.Trace(name, walk(choices, s.module, 80))
		if errors.Is(err, spec.ErrNotSupported) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		labels, err := conformance.Labels(h, ops, conformance.Options{New: reference.New})
		if err != nil {
			t.Fatal(err)
		}
		reached.Add(labels)
	}
	return reached
}

// walk is a random path through the states. It chooses the action first, then its arguments.
func walk(choices *rand.Rand, m bounded.Module, steps int) []explore.Step[*bounded.State] {
	trace := []explore.Step[*bounded.State]{{State: m.Initial()[0]}}
	for range steps {
		byAction := map[string][]explore.Step[*bounded.State]{}
		var actions []string
		m.Next(trace[len(trace)-1].State, func(l int, next *bounded.State) {
			label := m.Labels()[l]
			action := actionOf(label)
			if byAction[action] == nil {
				actions = append(actions, action)
			}
			byAction[action] = append(byAction[action], explore.Step[*bounded.State]{Label: label, State: next})
		})
		if len(actions) == 0 {
			break
		}
		slices.Sort(actions)
		action := actions[choices.IntN(len(actions))]
		if choices.IntN(2) == 0 && byAction["Malloc"] != nil {
			action = "Malloc"
		}
		trace = append(trace, byAction[action][choices.IntN(len(byAction[action]))])
	}
	return trace
}
