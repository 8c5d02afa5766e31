package gpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gaugeblock/graphtree"
	"gaugeblock/spec"
)

// TestTrees: a program calls functions of a graph tree, keeps some of what they
// return until its step is over, and finds there what they wrote. Many of the calls
// are launches of recorded graphs, and the same program comes to the same decisions on
// both devices.
func TestTrees(t *testing.T) {
	statuses := map[string]graphtree.Status{}
	for _, settings := range []string{"", "expandable_segments:True"} {
		t.Run(settings, func(t *testing.T) {
			onBoth(t, func(l *lab) {
				status := trees(l, l.reference(l.device, settings))
				first, seen := statuses[settings]
				if seen && fmt.Sprint(first) != fmt.Sprint(status) {
					l.Errorf("on the other device %+v, here %+v", first, status)
				}
				statuses[settings] = status
			})
		})
	}
}

// keptOutput is an output that the program holds, and what it should find there.
type keptOutput struct {
	tensor *graphtree.Tensor
	number byte
}

// trees runs the program.
func trees(l *lab, a graphtree.Allocator) graphtree.Status {
	l.Helper()
	s := l.stream(0)
	manager, err := graphtree.New(l.device, a, graphtree.Options{Program: s, Stream: l.stream(0), Pool: graphPool})
	l.must(err)
	random := rand.New(rand.NewPCG(1, 2))
	var functions []*graphtree.Function
	for range 4 {
		functions = append(functions, numbering(random))
	}
	var kept []keptOutput
	executions := 0
	for call := range 200 {
		number, err := manager.Malloc(4096)
		l.must(err)
		r, err := number.Range()
		l.must(err)
		l.must(l.Fill(0, s, r, byte(call+1)))
		outputs, err := manager.Call(functions[random.IntN(len(functions))], number)
		l.must(err)
		if manager.Status().State == graphtree.Execution {
			executions++
		}
		for _, o := range outputs {
			kept = append(kept, keptOutput{o, byte(call + 1)})
		}
		for _, k := range kept {
			r, err := k.tensor.Range()
			l.must(err)
			if err := l.has(0, s, spec.Range{Ptr: r.Ptr, Bytes: 4096}, k.number); err != nil {
				l.Fatalf("call %d, %+v: %v", call, manager.Status(), err)
			}
		}
		kept = slices.DeleteFunc(kept, func(k keptOutput) bool {
			drop := random.IntN(3) == 0
			if drop {
				l.must(k.tensor.Release())
			}
			return drop
		})
		if random.IntN(6) == 0 {
			for _, k := range kept {
				l.must(k.tensor.Release())
			}
			kept = nil
			manager.Generations().MarkStep()
		}
	}
	status := manager.Status()
	l.Logf("%d of 200 calls were launches; %+v", executions, status)
	for _, k := range kept {
		l.must(k.tensor.Release())
	}
	l.must(manager.Shutdown())
	return status
}

// numbering makes a function that copies its input to all that it returns, and
// overwrites all that it frees.
func numbering(random *rand.Rand) *graphtree.Function {
	sizes := []uint64{4096, 5000, 100_000, 1_500_000, 3_000_000, 12_000_000}
	random.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	sizes = sizes[:2+random.IntN(3)]
	return &graphtree.Function{Body: func(w *graphtree.Work, inputs []*graphtree.Tensor) (outputs []*graphtree.Tensor, err error) {
		for i, size := range sizes {
			t, err := w.Malloc(size)
			if err != nil {
				return nil, err
			}
			if i%2 == 0 {
				outputs, err = append(outputs, t), w.Copy(t, inputs[0])
			} else if err = w.Fill(t, 0xff); err == nil {
				err = t.Release()
			}
			if err != nil {
				return nil, err
			}
		}
		return outputs, nil
	}}
}
