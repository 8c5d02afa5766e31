package graphtree

import (
	"errors"
	"slices"

	"gaugeblock/spec"
)

// Work is the device as a function's body sees it: memory and launches. It can be used
// until the body returns.
type Work struct {
	manager *Manager
	stream  spec.Stream
	made    []*Tensor
}

// Stream is the stream of the work, for launches of other kinds.
func (w *Work) Stream() spec.Stream { return w.stream }

// Malloc allocates memory, in bytes, from the pool of the manager unless the function
// runs outside of it. The errors are the allocator's.
func (w *Work) Malloc(bytes uint64) (*Tensor, error) {
	t, err := w.manager.malloc(w.stream, bytes)
	if err != nil {
		return nil, err
	}
	w.made = append(w.made, t)
	return t, nil
}

// Launch launches a kernel that reads and writes the tensors.
func (w *Work) Launch(name string, reads, writes []*Tensor) error {
	l := spec.Launch{Device: w.manager.device, Stream: w.stream, Name: name}
	var err error
	if l.Reads, err = ranges(reads); err != nil {
		return err
	}
	if l.Writes, err = ranges(writes); err != nil {
		return err
	}
	return w.manager.gpu.Launch(l)
}

// Fill sets a tensor's bytes.
func (w *Work) Fill(t *Tensor, value byte) error {
	r, err := t.Range()
	if err != nil {
		return err
	}
	return w.manager.gpu.Fill(w.manager.device, w.stream, r, value)
}

// Copy copies as many bytes as both tensors have.
func (w *Work) Copy(dst, src *Tensor) error {
	to, err := dst.Range()
	if err != nil {
		return err
	}
	from, err := src.Range()
	if err != nil {
		return err
	}
	return w.manager.copy(w.stream, to.Ptr, from.Ptr, min(to.Bytes, from.Bytes))
}

func ranges(tensors []*Tensor) ([]spec.Range, error) {
	var list []spec.Range
	for _, t := range tensors {
		r, err := t.Range()
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// runBody runs a function's body on a stream. The body takes over the inputs. Each
// output that is returned is a reference of its own.
func (m *Manager) runBody(f *Function, stream spec.Stream, inputs []*Tensor) ([]*Tensor, error) {
	w := &Work{manager: m, stream: stream}
	results, err := f.Body(w, slices.Clone(inputs))
	all := slices.Concat(inputs, w.made, results)
	var outputs []*Tensor
	for _, t := range results {
		if err != nil {
			break
		}
		if t == nil {
			err = &spec.InvalidArgumentError{Op: "call " + f.Name, Reason: "the function returned no tensor where there should be one"}
			break
		}
		var output *Tensor
		output, err = t.Share()
		if err == nil {
			outputs = append(outputs, output)
		}
	}
	err = errors.Join(err, releaseAll(all))
	if err != nil {
		return nil, errors.Join(err, releaseAll(outputs))
	}
	return outputs, nil
}
