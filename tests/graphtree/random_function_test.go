package graphtree

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"gaugeblock/graphtree"
	"gaugeblock/spec/trace"
)

// function is a random function and a static input for it.
type function struct {
	*graphtree.Function
	static  *graphtree.Tensor
	results []trace.TreeResult
	sizes   []uint64 // of the temporaries; those that are not returned are freed at once
	late    bool     // it lets its inputs go at the end, not at the beginning
	inputs  int      // beside the static one and that with the number
}

func (p *program) newFunction(t *rapid.T) *function {
	f := &function{
		inputs: rapid.IntRange(0, 2).Draw(t, "inputs"),
		sizes:  rapid.SliceOfN(rapid.SampledFrom([]uint64{512, 1000, 4096, 100_000, 700_000, 1_500_000, 3_000_000}), 1, 5).Draw(t, "sizes"),
		late:   rapid.Bool().Draw(t, "late"),
	}
	f.Function = &graphtree.Function{
		Name: fmt.Sprintf("f%d", len(p.functions)),
		Mode: rapid.SampledFrom([]graphtree.Mode{graphtree.Inference, graphtree.Inference, graphtree.Forward, graphtree.Backward}).Draw(t, "mode"),
		Body: f.run,
	}
	if rapid.IntRange(0, 3).Draw(t, "static") == 0 {
		f.Static = []int{1}
		var err error
		f.static, err = p.manager.Malloc(4096)
		must(t, err)
	}
	for range rapid.IntRange(1, 4).Draw(t, "outputs") {
		r := trace.TreeResult{Kind: trace.ResultNew, Index: rapid.IntRange(0, len(f.sizes)-1).Draw(t, "temporary")}
		if f.inputs > 0 && rapid.IntRange(0, 3).Draw(t, "alias") == 0 {
			r = trace.TreeResult{Kind: trace.ResultInput, Index: rapid.IntRange(0, f.inputs-1).Draw(t, "input")}
		}
		f.results = append(f.results, r)
	}
	return f
}

// returns reports whether an output is that temporary or input.
func (f *function) returns(r trace.TreeResult) bool { return slices.Contains(f.results, r) }

// run is the function's body. What is not returned is overwritten and freed.
func (f *function) run(w *graphtree.Work, inputs []*graphtree.Tensor) (outputs []*graphtree.Tensor, err error) {
	number := inputs[0]
	rest := inputs[len(inputs)-f.inputs:]
	letGo := func() error {
		for i, t := range rest {
			if !f.returns(trace.TreeResult{Kind: trace.ResultInput, Index: i}) {
				if err := t.Release(); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if !f.late {
		if err := letGo(); err != nil {
			return nil, err
		}
	}
	temps := make([]*graphtree.Tensor, len(f.sizes))
	for i, size := range f.sizes {
		if temps[i], err = w.Malloc(size); err != nil {
			return nil, err
		}
		if f.returns(trace.TreeResult{Kind: trace.ResultNew, Index: i}) {
			err = w.Copy(temps[i], number)
		} else {
			err = errors.Join(w.Fill(temps[i], 0xff), temps[i].Release())
		}
		if err != nil {
			return nil, err
		}
	}
	if f.late {
		if err := letGo(); err != nil {
			return nil, err
		}
	}
	for _, r := range f.results {
		from := temps
		if r.Kind == trace.ResultInput {
			from = rest
		}
		outputs = append(outputs, from[r.Index])
	}
	return outputs, nil
}
