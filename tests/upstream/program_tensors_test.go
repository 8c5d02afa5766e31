package upstream

import (
	"errors"
	"slices"

	"gaugeblock/spec"
)

// tensor is memory that the program was given: its address and as many bytes as
// were asked for.
type tensor struct {
	spec.Range
	device spec.Device
	stream spec.Stream // for which it was asked
}

// view is a part of a tensor.
func (x tensor) view(offset, bytes uint64) tensor {
	x.Range = spec.Range{Ptr: x.Ptr + spec.Ptr(offset), Bytes: bytes}
	return x
}

// floats is the size of that many elements of upstream's usual type.
func floats(n uint64) uint64 { return 4 * n }

func (p *program) request(s spec.Stream, bytes uint64) spec.Request {
	return spec.Request{Device: p.device, Stream: s, Bytes: bytes, Thread: p.caller}
}

// empty asks for memory on a stream.
func (p *program) empty(s spec.Stream, bytes uint64) tensor {
	p.t.Helper()
	ptr, err := p.allocator.Malloc(p.request(s, bytes))
	p.must(err)
	x := tensor{Range: spec.Range{Ptr: ptr, Bytes: bytes}, device: p.device, stream: s}
	if g := p.owned.capturing; g != nil {
		g.memory = append(g.memory, x.Range)
	}
	return x
}

// outOfMemory asks for memory that there is not.
func (p *program) outOfMemory(s spec.Stream, bytes uint64) *spec.OutOfMemoryError {
	p.t.Helper()
	ptr, err := p.allocator.Malloc(p.request(s, bytes))
	var oom *spec.OutOfMemoryError
	if !errors.As(err, &oom) {
		p.t.Fatalf("a request for %d bytes gave %v and the error %v, want out of memory", bytes, ptr, err)
	}
	return oom
}

func (p *program) free(tensors ...tensor) {
	p.t.Helper()
	for _, x := range tensors {
		p.must(p.allocator.Free(x.Ptr))
	}
}

// full is a new tensor with the same value in every byte.
func (p *program) full(s spec.Stream, bytes uint64, value byte) tensor {
	p.t.Helper()
	x := p.empty(s, bytes)
	p.fill(s, x, value)
	return x
}

// clone is a new tensor that is made of another one.
func (p *program) clone(s spec.Stream, x tensor) tensor {
	p.t.Helper()
	y := p.empty(s, x.Bytes)
	p.copy(s, y, x)
	return y
}

func (p *program) fill(s spec.Stream, x tensor, value byte) {
	p.t.Helper()
	p.must(p.gpu.Fill(p.device, s, x.Range, value))
}

func (p *program) copy(s spec.Stream, dst, src tensor) {
	p.t.Helper()
	p.must(p.gpu.Copy(spec.Copy{
		Device: p.device, Stream: s, Bytes: min(dst.Bytes, src.Bytes),
		Dst: dst.Ptr, DstDevice: dst.device, Src: src.Ptr, SrcDevice: src.device,
	}))
}

// kernel reads some tensors and writes another.
func (p *program) kernel(s spec.Stream, out tensor, in ...tensor) {
	p.t.Helper()
	launch := spec.Launch{Device: p.device, Stream: s, Name: "kernel", Writes: []spec.Range{out.Range}}
	for _, x := range in {
		launch.Reads = append(launch.Reads, x.Range)
	}
	p.must(p.gpu.Launch(launch))
}

// recordStream says that work on a stream uses a tensor (Tensor.record_stream).
func (p *program) recordStream(x tensor, s spec.Stream) {
	p.t.Helper()
	p.must(p.allocator.RecordStream(x.Ptr, p.device, s))
}

// sampled is how much of a tensor is looked at in one place, and of how many
// places: reading gigabytes would tell no more.
const sampled, places = 64, 5

// holds checks that a tensor has the same value in every byte, once its stream has
// run (Tensor.item, and everything that compares).
func (p *program) holds(x tensor, want byte) {
	p.t.Helper()
	if got, same := p.value(x); !same || got != want {
		p.t.Errorf("the tensor at %v holds %#x (the same everywhere: %t), want %#x", x.Ptr, got, same, want)
	}
}

// value is the byte that a tensor is filled with; same is false if there are
// others.
func (p *program) value(x tensor) (value byte, same bool) {
	p.t.Helper()
	same = true
	for i := range uint64(places) {
		part := x.view((x.Bytes-min(x.Bytes, sampled))/(places-1)*i, min(x.Bytes, sampled))
		data, err := p.gpu.ReadBack(x.device, x.stream, part.Range)
		p.must(err)
		if i == 0 {
			value = data[0]
		}
		same = same && !slices.ContainsFunc(data, func(b byte) bool { return b != value })
	}
	return value, same
}
