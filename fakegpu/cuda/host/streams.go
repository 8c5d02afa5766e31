//go:build cgo && linux

package host

import "gaugeblock/spec"

// streams are the handles of a process's streams. As those of a real device they look like
// pointers, and the handle of a stream that was destroyed is soon that of a new one.
type streams struct {
	handles uint64        // how many there are
	unused  []spec.Stream // of destroyed streams, the latest last
	made    map[spec.Stream]streamMaking
}

// streamMaking is how a stream was created.
type streamMaking struct {
	flags    uint64
	priority int
}

// The streams that do not order with the legacy default stream have this flag.
const nonBlocking = 1

// greatestPriority is that of streams; the least is 0. What is asked beyond is the nearest.
const greatestPriority = -5

// streamStep is the distance between the handles of streams: programs take them for
// pointers, and use the lowest bits for other ends.
const streamStep = 0x100

// firstStream is where the handles of streams begin.
const firstStream = 0x5000_0000_0000

// createStream makes a stream. Its handle is the one that was given up last, if there is one.
func (p *Process) createStream(dev spec.Device, how streamMaking) (spec.Stream, error) {
	if how.flags&^nonBlocking != 0 {
		return 0, &spec.DriverError{Call: "CreateStream", Name: "cudaErrorInvalidValue", Code: invalidValue}
	}
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
	how.priority = min(max(how.priority, greatestPriority), 0)
	if s.made == nil {
		s.made = map[spec.Stream]streamMaking{}
	}
	s.made[handle] = how
	if how.flags == 0 && p.Blocking {
		return handle, p.GPU.SetBlocking(dev, handle)
	}
	return handle, nil
}

// making is how a stream was created; a default stream has no flags. Of a stream that was created
// otherwise the GPU knows whether it is blocking.
func (p *Process) making(handle spec.Stream) streamMaking {
	p.mu.Lock()
	defer p.mu.Unlock()
	how, created := p.streams.made[handle]
	if !created && handle != 0 && !p.GPU.IsBlocking(handle) {
		how.flags = nonBlocking
	}
	return how
}

// Settle gives back what pools keep beyond their thresholds, as somebody's wait for the device does.
func (p *Process) Settle() { _ = p.waited() }

func (p *Process) destroyStream(dev spec.Device, handle spec.Stream) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.GPU.DestroyStream(dev, handle); err != nil {
		return err
	}
	p.streams.unused = append(p.streams.unused, handle)
	return nil
}
