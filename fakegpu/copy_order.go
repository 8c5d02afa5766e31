package fakegpu

import "gaugeblock/spec"

// Copies between devices in a default stream. Such a copy waits for the default stream of the
// other device as well, and that stream's later work waits for the copy. Copies in other
// streams wait for their own stream only. Measured on two H200 (CUDA 13.0, driver 580), with
// the default streams held.

// otherDefaults are the default streams that a copy in a default stream also orders.
func (g *GPU) otherDefaults(s *stream, c spec.Copy) (others []*stream) {
	if s.handle != 0 || c.SrcDevice == c.DstDevice {
		return nil
	}
	for _, dev := range []spec.Device{c.SrcDevice, c.DstDevice} {
		if dev != s.device {
			others = append(others, g.devices[dev].stream)
		}
	}
	return others
}

// gatherDefaults makes a stream wait for others, before a copy in it. Nothing waits if the copy
// is refused.
func (g *GPU) gatherDefaults(c call, s *stream, others []*stream) error {
	for _, o := range others {
		if err := g.barred(c, o); err != nil {
			return err
		}
	}
	if err := g.barred(c, s); err != nil {
		return err
	}
	for _, o := range others {
		g.gatherBlocking(o)
		g.follow(s, o)
	}
	return nil
}

// releaseDefaults makes the others wait for the copy.
func (g *GPU) releaseDefaults(s *stream, others []*stream) {
	for _, o := range others {
		g.follow(o, s)
		g.releaseBlocking(o)
	}
}

// follow makes a stream wait for all that another one has been given.
func (g *GPU) follow(s, other *stream) {
	if !other.idle() {
		s.push(item{wait: other.end()})
	}
	if d := g.detector; d != nil {
		d.order.Wait(d.lane(s), d.lane(other).Clock())
	}
}
