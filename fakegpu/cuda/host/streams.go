//go:build cgo && linux

package host

import "gaugeblock/spec"

// streams are the handles of a process's streams. As those of a real device they look like
// pointers, and the handle of a stream that was destroyed is soon that of a new one.
type streams struct {
	handles uint64        // how many there are
	unused  []spec.Stream // of destroyed streams, the latest last
}

// streamStep is the distance between the handles of streams: programs take them for
// pointers, and use the lowest bits for other ends.
const streamStep = 0x100

// firstStream is where the handles of streams begin.
const firstStream = 0x5000_0000_0000

// createStream makes a stream. Its handle is the one that was given up last, if there is one.
func (p *Process) createStream(dev spec.Device) (spec.Stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.streams
	handle := spec.Stream(firstStream + (s.handles+1)*streamStep)
	reused := len(s.unused) > 0
	if reused {
		handle = s.unused[len(s.unused)-1]
	}
	if err := p.GPU.CreateStreamAs(dev, handle); err != nil {
		return handle, err
	}
	if reused {
		s.unused = s.unused[:len(s.unused)-1]
	} else {
		s.handles++
	}
	return handle, nil
}

func (p *Process) destroyStream(dev spec.Device, handle spec.Stream) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.GPU.DestroyStream(dev, handle); err != nil {
		return err
	}
	p.streams.unused = append(p.streams.unused, handle)
	return nil
}
