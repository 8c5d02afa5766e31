//go:build cgo && linux

package host

import (
	"golang.org/x/sys/unix"

	"gaugeblock/spec"
)

// Host threads. What one has waited for is known to another only if the program sees to that,
// by means that the libraries do not see. So all count as one, unless the program says of each
// (Process.Threads).

// enter begins a call of the calling thread's, and leave ends it. Only one is made at a time.
func (p *Process) enter() {
	if p.Threads {
		p.turn.Lock()
		p.GPU.SetThread(spec.Thread(unix.Gettid()))
	}
}

func (p *Process) leave() {
	if p.Threads {
		p.turn.Unlock()
	}
}

// released is set in the number that stands for what a thread releases and another one acquires:
// it is no thread's.
const released = 1 << 63

// order puts what the thread has done before what others do that acquire the same, or what was
// done before it was released before what the thread does.
func (p *Process) order(what uint64, acquire bool) {
	if !p.Threads {
		return
	}
	self, other := spec.Thread(unix.Gettid()), spec.Thread(what|released)
	if acquire {
		p.GPU.OrderThreads(other, self)
	} else {
		p.GPU.OrderThreads(self, other)
	}
}
