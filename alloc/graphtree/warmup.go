package graphtree

import "slices"

// Warming up. The first run of a function is not recorded: libraries set
// themselves up and choose their algorithms, which does not belong into a graph.
// It runs in the tree's pool all the same, so that the memory it needs is already
// there when it is recorded.
//
// A warm-up may follow recorded nodes, and warm-ups, but no recording may follow a
// warm-up: its outputs will lie elsewhere next time, and a graph that reads them
// there could never be launched again. So once a path has a warm-up everything
// runs as one until the path ends.

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
	err := m.intoPool(func() (err error) {
		outputs, err = m.do(f, m.stream, inputs)
		return err
	})
	if err != nil {
		return nil, m.abandon(slices.Concat(inputs, outputs), err)
	}
	m.warmUps++
	n := &node{id: -m.warmUps, function: f, parent: parent}
	for _, t := range outputs {
		var w *watch
		if !outside[t.storage] && t.ptr() != 0 {
			w = &watch{storage: t.storage}
		}
		n.outputs = append(n.outputs, w)
	}
	m.warm[f] = true
	m.arrive(n, WarmUp)
	return outputs, nil
}
