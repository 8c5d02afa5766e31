package graphtree_test

import (
	"slices"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/graphtree"
	"gaugeblock/spec"
)

// A marked allocator writes down which captures it is told of, and for which current streams
// memory is asked for by a view.
type marked struct {
	*alloc.Allocator
	told *[]string
}

func (m marked) MarkCaptureBegin(dev spec.Device) error {
	*m.told = append(*m.told, "begin")
	return m.Allocator.MarkCaptureBegin(dev)
}

func (m marked) MarkCaptureEnd(dev spec.Device) error {
	*m.told = append(*m.told, "end")
	return m.Allocator.MarkCaptureEnd(dev)
}

func (m marked) For(c spec.Caller) spec.Allocator {
	*m.told = append(*m.told, "on "+c.Current.Stream.String())
	return m.Allocator.For(c)
}

// TestMarks: a recording marks its capture as begun behind its begin and as ended behind its
// end, and calls the allocator with the captured stream as the current one in between.
func TestMarks(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a, err := alloc.New(gpu, alloc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := gpu.CreateStream(0)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	manager, err := graphtree.New(gpu, marked{a, &told}, graphtree.Options{Stream: stream, Pool: spec.PoolID{User: 1}})
	if err != nil {
		t.Fatal(err)
	}
	f := &graphtree.Function{Name: "f", Body: func(w *graphtree.Work, inputs []*graphtree.Tensor) ([]*graphtree.Tensor, error) {
		out, err := w.Malloc(4096)
		if err != nil {
			return nil, err
		}
		return []*graphtree.Tensor{out}, w.Launch("f", inputs, []*graphtree.Tensor{out})
	}}
	told = nil    // New captures an empty graph
	for range 2 { // the first call warms up, the second is recorded
		input, err := manager.Malloc(4096)
		if err != nil {
			t.Fatal(err)
		}
		outputs, err := manager.Call(f, input)
		if err != nil {
			t.Fatal(err)
		}
		if err := outputs[0].Release(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"begin", "on " + stream.String(), "end"}; !slices.Equal(told, want) {
		t.Errorf("the allocator was told %q, want %q", told, want)
	}
	if err := manager.Shutdown(); err != nil {
		t.Fatal(err)
	}
}
