package upstream

import (
	"errors"
	"testing"

	"gaugeblock/spec"
)

// Class TestCuda of test/test_cuda.py: memory that several streams use.

// Upstream: a tensor of a side stream is copied on the main stream, which is slow,
// and freed. The side stream's next tensor lies elsewhere, so the copy is right.
// Once the main stream has run, the memory serves the side stream again.
func TestCuda_RecordStream(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		side := p.newStream()
		result := p.empty(mainStream, floats(4))
		tmp := p.full(side, floats(4), 42)
		p.wait(mainStream, side)
		p.recordStream(tmp, mainStream)
		p.busy(mainStream)
		p.copy(mainStream, result, tmp)
		p.free(tmp)

		other := p.full(side, floats(4), 0)
		if other.Ptr == tmp.Ptr {
			t.Error("the memory was allocated again too soon")
		}
		p.synchronize()
		p.holds(result, 42)
		if again := p.empty(side, floats(4)); again.Ptr != tmp.Ptr {
			t.Errorf("%v was allocated, not %v again", again.Ptr, tmp.Ptr)
		}
	})
}

// Upstream: a stream is recorded on a view that begins inside a tensor. The whole
// tensor's memory must wait for it. A view knows its tensor, so the allocator is
// told of the tensor; an address inside one is nothing that it allocated.
func TestCuda_RecordStreamOnShiftedView(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		s, other := p.newStream(), p.newStream()
		base := p.empty(s, floats(10*10))
		view := base.view(floats(5*10), floats(5*10))
		var inside *spec.InvalidPointerError
		if err := p.allocator.RecordStream(view.Ptr, p.device, other); !errors.As(err, &inside) {
			t.Errorf("a stream recorded on an address inside a tensor: %v", err)
		}

		p.busy(other)
		p.kernel(other, view)
		p.recordStream(base, other)
		p.free(base)
		p.must(p.gpu.SynchronizeStream(p.device, s))
		if again := p.empty(s, base.Bytes); again.Ptr == base.Ptr {
			t.Error("the memory was allocated again too soon")
		}
	})
}
