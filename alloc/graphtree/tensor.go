package graphtree

import "gaugeblock/spec"

// A Tensor is one holder's hold on some device memory: an input or output of a
// function, or what a function works with. Python counts references; here each
// reference is a Tensor, made by Share and ended by Release.
type Tensor struct {
	storage  *storage
	released bool
}

// ErrOverwritten says that a tensor's memory has been given to a later run.
var ErrOverwritten error = &spec.InvalidStateError{
	Op:     "tensor",
	Reason: "its memory was given to a later run: copy what is to outlive its step",
}

var errReleased error = &spec.InvalidStateError{Op: "tensor", Reason: "it has been released"}

// Range is where the memory lies, and how many bytes there are. It fails with
// ErrOverwritten if the memory has been given to a later run, and with a
// *spec.InvalidStateError after Release.
//
// Outputs of a launched graph stay readable when a new step begins, as upstream's
// do, until a later launch or recording writes there: see Manager.Holds.
func (t *Tensor) Range() (spec.Range, error) {
	switch {
	case t.released:
		return spec.Range{}, errReleased
	case t.storage.taken:
		return spec.Range{}, ErrOverwritten
	}
	return t.storage.memory, nil
}

// Share makes another hold on the same memory. It fails as Range does.
func (t *Tensor) Share() (*Tensor, error) {
	if _, err := t.Range(); err != nil {
		return nil, err
	}
	return t.share(), nil
}

func (t *Tensor) share() *Tensor { return &Tensor{storage: t.storage.hold()} }

// Release ends the hold. The last one to do so gives the memory back. An error is
// the allocator's, or says that it was released before; then nothing changed.
func (t *Tensor) Release() error {
	if t.released {
		return errReleased
	}
	t.released = true
	return t.storage.drop()
}

// ptr is the address, whoever has the memory now.
func (t *Tensor) ptr() spec.Ptr { return t.storage.memory.Ptr }

// releaseAll releases those that are not yet, and keeps the first error.
func releaseAll(tensors []*Tensor) (first error) {
	for _, t := range tensors {
		if t == nil || t.released {
			continue
		}
		if err := t.Release(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
