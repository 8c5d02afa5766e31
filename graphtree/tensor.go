package graphtree

import (
	"errors"

	"gaugeblock/spec"
)

// A Tensor is one reference to some device memory: an input or output of a function, or
// what a function works with. Python counts references. Here each reference is a
// Tensor, made by Share and ended by Release.
type Tensor struct {
	storage  *storage
	released bool
}

// ErrOverwritten says that a tensor's memory was allocated to a later run.
var ErrOverwritten error = &spec.InvalidStateError{
	Op:     "tensor",
	Reason: "its memory was given to a later run: copy what is to outlive its step",
}

var errReleased error = &spec.InvalidStateError{Op: "tensor", Reason: "it has been released"}

// Range returns the address and the size in bytes of the memory. It fails with
// ErrOverwritten if the memory was allocated to a later run, and with a
// *spec.InvalidStateError after Release.
//
// Outputs of a launched graph stay readable when a new step begins, as upstream's do,
// until a later launch or recording writes to them: see Manager.Holds.
func (t *Tensor) Range() (spec.Range, error) {
	switch {
	case t.released:
		return spec.Range{}, errReleased
	case t.storage.deallocated:
		return spec.Range{}, ErrOverwritten
	}
	return t.storage.memory, nil
}

// Share makes another reference to the same memory. It fails as Range does.
func (t *Tensor) Share() (*Tensor, error) {
	if _, err := t.Range(); err != nil {
		return nil, err
	}
	return t.share(), nil
}

func (t *Tensor) share() *Tensor { return &Tensor{storage: t.storage.addRef()} }

// Release ends the reference. The last one frees the memory. An error is the
// allocator's, or says that the reference was released before; then nothing changed.
func (t *Tensor) Release() error {
	if t.released {
		return errReleased
	}
	t.released = true
	return t.storage.dropRef()
}

// ptr is the address, also if the memory was deallocated.
func (t *Tensor) ptr() spec.Ptr { return t.storage.memory.Ptr }

// releaseAll releases those that are not released yet, and returns the errors.
func releaseAll(tensors []*Tensor) (err error) {
	for _, t := range tensors {
		if t != nil && !t.released {
			err = errors.Join(err, t.Release())
		}
	}
	return err
}
