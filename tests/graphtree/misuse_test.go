package graphtree

import (
	"errors"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/graphtree"
	"gaugeblock/spec"
)

// A manager needs a stream that nobody else has: neither the default stream nor the program's.
func TestStreamOfItsOwn(t *testing.T) {
	s := newStory(t, &datadriven.TestData{}, nil)
	for _, o := range []graphtree.Options{{}, {Program: 5}, {Program: 5, Stream: 5}} {
		var invalid *spec.InvalidArgumentError
		if m, err := graphtree.New(s.gpu, s.allocator, o); !errors.As(err, &invalid) || m != nil {
			t.Errorf("%+v: %v, %v", o, m, err)
		}
	}
}

// The tree protects an output from the moment it is there to its release, and the input of the program never.
func TestHolds(t *testing.T) {
	s := newStory(t, &datadriven.TestData{}, nil)
	m := s.manager
	input, err := m.Malloc(4096)
	s.must(err)
	if m.Holds(input) {
		t.Error("it holds what it has never seen")
	}
	released := &graphtree.Tensor{}
	f := &graphtree.Function{Name: "f", Body: func(w *graphtree.Work, inputs []*graphtree.Tensor) ([]*graphtree.Tensor, error) {
		out, err := w.Malloc(4096)
		if err != nil {
			return nil, err
		}
		if released, err = w.Malloc(4096); err != nil {
			return nil, err
		}
		return []*graphtree.Tensor{out}, errors.Join(released.Release(), w.Fill(out, 1))
	}}
	outputs, err := m.Call(f, input)
	if err != nil {
		t.Fatal(err)
	}
	share, err := outputs[0].Share()
	if err != nil {
		t.Fatal(err)
	}
	if !m.Holds(outputs[0]) || !m.Holds(share) || m.Holds(released) {
		t.Error("it does not hold its output alone")
	}
	if err := outputs[0].Release(); err != nil || m.Holds(outputs[0]) || !m.Holds(share) {
		t.Errorf("%v; the share is to be held, the released one is not", err)
	}
}

// A function that fills memory that is released is told so.
func TestFillOfReleased(t *testing.T) {
	s := newStory(t, &datadriven.TestData{}, nil)
	filled := false
	f := &graphtree.Function{Name: "f", Body: func(w *graphtree.Work, _ []*graphtree.Tensor) ([]*graphtree.Tensor, error) {
		out, err := w.Malloc(4096)
		if err != nil {
			return nil, err
		}
		if err := w.Fill(out, 1); err != nil {
			return nil, err
		}
		filled = true
		if err := out.Release(); err != nil {
			return nil, err
		}
		return nil, w.Fill(out, 1)
	}}
	if _, err := s.manager.Call(f); !filled || err == nil || err.Error() != "tensor: it has been released" {
		t.Errorf("filled %t, %v", filled, err)
	}
}
