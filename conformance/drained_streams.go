package conformance

import "gaugeblock/spec"

// takeDrained lists the streams that were held and have nothing left to do, somebody
// having waited for them, and takes note of it.
func (t *Trial) takeDrained() (list []spec.DeviceStream) {
	p := t.program
	before := make([]uint64, len(p.streams))
	for slot := range p.streams {
		before[slot] = p.held(slot)
	}
	for slot := range p.streams {
		s := &p.streams[slot]
		handle := t.header.Streams[s.index]
		if before[slot] == 0 || !t.player.GPU().Idle(s.device, handle) {
			continue
		}
		list = append(list, spec.DeviceStream{Device: s.device, Stream: handle})
		p.drained(slot)
	}
	return list
}
