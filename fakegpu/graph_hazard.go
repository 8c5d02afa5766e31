package fakegpu

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// What the detector makes of graphs; the rules are in detector.go.

// captured: a node was made of work that was given to a stream under capture.
func (d *detector) captured(g *GPU, s *stream, n *node) {
	a := &act{kind: n.work.kind, name: n.work.name, graph: true, device: s.device, stream: s.handle, line: g.line}
	n.watched = true
	n.claims = slices.Clone(d.claims(g, a, &n.work))
	for i := range n.claims {
		c := &n.claims[i]
		c.parts, _ = g.resolve(n.work.through(c.write), c.Range, nil)
	}
}

// launched: a graph was given to a stream. All of its nodes have the same
// epoch, and one clock; among themselves their graph orders them.
func (d *detector) launched(g *GPU, s *stream, w *work) {
	x := w.exec
	d.order.Wait(d.lane(s), x.before)
	m := d.submit(s)
	x.before.Set(m.Clock)
	d.pairs = d.pairs[:0]
	for _, n := range x.nodes {
		m.node = n
		a := &act{
			work: w.id, kind: n.work.kind, name: n.work.name, graph: true,
			device: n.work.device, stream: s.handle, line: g.line, both: n.work.onDevices(),
		}
		if !n.watched { // the capture was before detection was turned on
			for _, c := range d.claims(g, a, &n.work) {
				d.use(&m, a, c)
			}
			continue
		}
		for _, c := range n.claims {
			if why := d.outlived(g, n, &c); why != "" {
				d.report(Hazard{Kind: Outlived, Range: c.Range, Second: a.describe(c), Missing: why})
				continue
			}
			d.use(&m, a, c)
		}
	}
}

// outlived says why a node may not touch, at a launch, what it claimed when it was
// captured; "" if it may.
func (d *detector) outlived(g *GPU, n *node, c *claim) (why string) {
	parts, reason := g.resolve(n.work.through(c.write), c.Range, nil)
	switch {
	case reason != "":
		return "since the capture its memory went back to the driver: " + reason
	case !slices.Equal(parts, c.parts):
		return "since the capture its memory went back to the driver, and there is other memory now"
	case !g.space.around(c.Ptr).managed:
		return ""
	}
	d.owners.each(c.Range, func(r spec.Range, owner *Lifetime) {
		if why == "" {
			why = notOwn(c.lifetime, owner)
		}
	})
	return why
}

// notOwn says why a node that was captured in one lifetime may not touch bytes that
// another one has, or none; "" if it may.
func notOwn(lifetime, owner *Lifetime) string {
	switch {
	case owner == lifetime:
		return ""
	case owner == nil && lifetime.Captured, owner == nil && lifetime == unmanaged:
		return ""
	case owner == nil:
		return fmt.Sprintf("since the capture %v was freed; it is not the graph's own, having been allocated outside of the capture", *lifetime)
	case owner.Captured && lifetime.Captured && owner.Pool == lifetime.Pool:
		return ""
	}
	return fmt.Sprintf("since the capture its memory was given to %v, which is not of a capture in pool %v", *owner, lifetime.Pool)
}

// through is the device through which work reads or writes.
func (w *work) through(write bool) spec.Device {
	if write {
		return w.writer
	}
	return w.reader
}
