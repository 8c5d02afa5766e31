package fakegpu_test

import (
	"slices"

	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// The part of TestDetectorAgainstReference that is about graphs.

// refCapture is a capture under way: the nodes so far, and for each stream in it the
// numbers of those that its next node will depend on.
type refCapture struct {
	nodes     []refNode
	terminals map[int][]int
	order     []int // the streams, as they joined
}

// capture captures a few pieces of work on one to three streams, between which it
// waits now and then, and makes the graph executable.
func (m *hazardModel) capture(t *rapid.T) {
	origin := m.stream(t)
	if origin == 0 || len(m.graphs) >= 4 {
		return
	}
	k := &refCapture{terminals: map[int][]int{origin: nil}, order: []int{origin}}
	event, err := m.gpu.CreateEvent(0)
	m.must(t, err)
	m.must(t, m.gpu.BeginCapture(0, m.streams[origin], spec.CaptureRelaxed))
	m.joined = k.terminals
	defer func() { m.joined = nil }()
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		s := rapid.SampledFrom(k.order).Draw(t, "member")
		switch rapid.IntRange(0, 7).Draw(t, "step") {
		case 0:
			m.giveCells(t, s, plainCells, cells)
		case 1:
			m.take(t)
		case 2:
			if other := m.stream(t); other != 0 && other != s {
				m.follow(t, k, other, s, event)
			}
		case 3:
			m.reuse(t)
		default:
			if len(m.lifetimes) > 0 {
				l, touched := m.work(t, s)
				m.must(t, m.gpu.Launch(l))
				k.nodes = append(k.nodes, refNode{l.Name, slices.Clone(k.terminals[s]), touched})
				k.terminals[s] = []int{len(k.nodes) - 1}
			}
		}
	}
	for _, s := range k.order[1:] {
		m.follow(t, k, origin, s, event)
	}
	graph, err := m.gpu.EndCapture(0, m.streams[origin])
	m.must(t, err)
	exec, err := m.gpu.Instantiate(graph)
	m.must(t, err)
	m.must(t, m.gpu.DestroyEvent(event))
	m.graphs = append(m.graphs, refGraph{exec: exec, nodes: k.nodes, last: -1})
}

// follow makes a stream wait for one that is in the capture.
func (m *hazardModel) follow(t *rapid.T, k *refCapture, stream, on int, event spec.EventHandle) {
	m.must(t, m.gpu.RecordEvent(event, 0, m.streams[on]))
	m.must(t, m.gpu.WaitEvent(0, m.streams[stream], event))
	if !slices.Contains(k.order, stream) {
		k.order = append(k.order, stream)
	}
	k.terminals[stream] = append(k.terminals[stream], k.terminals[on]...)
}

func (m *hazardModel) launchGraph(t *rapid.T) {
	if len(m.graphs) == 0 {
		return
	}
	g := &m.graphs[rapid.IntRange(0, len(m.graphs)-1).Draw(t, "graph")]
	stream := m.stream(t)
	m.must(t, m.gpu.LaunchGraph(g.exec, 0, m.streams[stream]))
	var earlier []int
	if g.last >= 0 {
		earlier = []int{g.last}
	}
	begin := m.ref.submit(stream, earlier...)
	m.ref.works++
	work := m.ref.works
	m.ref.works += uint64(len(g.nodes))
	vertices := []int{begin}
	for _, n := range g.nodes {
		behind := []int{begin}
		for _, b := range n.behind {
			behind = append(behind, vertices[1+b])
		}
		v := m.ref.vertex(behind...)
		vertices = append(vertices, v)
		m.accessed(v, whoName(work, n.name), m.own(n.accesses))
	}
	g.last = m.ref.vertex(vertices...)
	m.ref.streams[stream] = g.last
}

// own leaves out what a graph has outlived: ranges with a byte whose owner is not the
// one of the capture, unless that one was captured and there is no owner, or one that
// was captured in the same pool.
func (m *hazardModel) own(accesses []refAccess) (own []refAccess) {
	outlived := map[int]bool{}
	for _, a := range accesses {
		lifetime := m.all[a.lifetime]
		i := slices.IndexFunc(m.lifetimes, func(l refLife) bool { return l.first <= a.cell && a.cell <= l.last })
		switch {
		case i >= 0 && m.lifetimes[i].number == a.lifetime:
		case lifetime.captured && (i < 0 || m.lifetimes[i].captured && m.lifetimes[i].pool == lifetime.pool):
		default:
			outlived[a.part] = true
		}
	}
	m.outlive += len(outlived)
	return slices.DeleteFunc(slices.Clone(accesses), func(a refAccess) bool { return outlived[a.part] })
}
