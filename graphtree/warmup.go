package graphtree

import "slices"

// Warming up. The first run of a function is not recorded: libraries initialize
// themselves and choose their algorithms, which must not become part of a graph. It
// runs in the pool all the same, so that the memory it needs is already there when it
// is recorded.
//
// A warm-up can follow recorded nodes and warm-ups, but a recording cannot follow a
// warm-up: the outputs of a warm-up have other addresses the next time, and a graph
// that reads them could never be launched again. So once a path has a warm-up every
// call is one until the path ends.

// warmUp runs a function without recording it.
func (m *Manager) warmUp(f *Function, inputs []*Tensor) ([]*Tensor, error) {
	parent := m.current
	pooled := map[*storage]bool{}
	if parent != nil {
		for _, w := range parent.live() {
			pooled[w.storage] = true
		}
	}
	outside := map[*storage]bool{}
	for _, t := range inputs {
		outside[t.storage] = !pooled[t.storage]
	}

	var outputs []*Tensor
	err := m.usePool(func() (err error) {
		outputs, err = m.runBody(f, m.stream, inputs)
		return err
	})
	if err != nil {
		return nil, m.releaseAfter(slices.Concat(inputs, outputs), err)
	}
	m.warmUps++
	n := &node{id: -m.warmUps, function: f, parent: parent}
	for _, t := range outputs {
		var w *weakRef
		if !outside[t.storage] && t.ptr() != 0 {
			w = &weakRef{storage: t.storage}
		}
		n.outputs = append(n.outputs, w)
	}
	m.warm[f] = true
	m.setCurrent(n, WarmUp)
	return outputs, nil
}
