package replay

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// checkTree compares what is seen of a graph tree after a call: first what became
// of the call, then what it returned.
func (c *comparison) checkTree() *Difference {
	want, got := c.want.Tree, c.got.Tree
	if want == nil {
		return nil
	}
	if got == nil {
		return differs("tree", "outputs of a call", "none")
	}
	for _, field := range []struct {
		name      string
		want, got any
	}{
		{"state", want.State, got.State},
		{"fails", want.Fails, got.Fails},
		{"checkpoints", want.Checkpoints, got.Checkpoints},
		{"path", want.Path, got.Path},
		{"node", want.Node, got.Node},
		{"roots", want.Roots, got.Roots},
		{"outputs", inPool(want), inPool(got)},
	} {
		w, g := fmt.Sprint(field.want), fmt.Sprint(field.got)
		if w != g {
			return differs("tree."+field.name, w, g)
		}
	}
	return nil
}

// checkTreePool compares what a call did to the pool. It is granted what every pool of
// captures is.
func (c *comparison) checkTreePool() *Difference {
	if c.want.Tree == nil {
		return nil
	}
	stale := tolerance{staleRequested: true}
	d := compareLayouts(stale.layout(slices.Clone(c.want.Tree.Pool)), stale.layout(c.got.Tree.Pool))
	if d != nil {
		d.Field = "tree.pool"
	}
	return d
}

// inPool is the addresses of the outputs, in words. Those outside of the pool are
// the program's own inputs: where they lie does not concern the tree.
func inPool(e *trace.TreeExpectation) []string {
	words := []string{}
	for _, p := range e.Outputs {
		inside := slices.ContainsFunc(e.Pool, func(g spec.Segment) bool {
			return g.Address <= p && p < g.Address+spec.Ptr(g.TotalSize)
		})
		if inside {
			words = append(words, p.String())
		} else {
			words = append(words, "outside")
		}
	}
	return words
}
