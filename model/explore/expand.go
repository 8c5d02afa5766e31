package explore

import (
	"bytes"
	"unsafe"
)

// A successor is a step from a state of a batch, or an initial state.
type successor struct {
	from        int32 // the index of the state in the batch
	step        int32 // in the order of Next
	label       int32
	key         int32 // where the key begins in the chunk's keys
	class       int32 // where the key that stands for the class begins: after the key, or at it
	end         int32
	isRepeated  bool // the same edge as an earlier one
	isNew       bool
	fingerprint fingerprint
}

const successorBytes = int(unsafe.Sizeof(successor{}))

// A chunk is the successors of consecutive states of a batch.
type chunk struct {
	successors []successor
	keys       []byte
	edges      Sum
	failure    *failure // the first one
	text       []byte   // a buffer
}

func (c *chunk) clear() {
	*c = chunk{successors: c.successors[:0], keys: c.keys[:0], text: c.text[:0]}
}

// key is the key of a successor.
func (c *chunk) key(s *successor) []byte {
	if s.class > s.key {
		return c.keys[s.key:s.class]
	}
	return c.keys[s.key:s.end]
}

// class is the key of the class of a successor.
func (c *chunk) class(s *successor) []byte { return c.keys[s.class:s.end] }

// add appends a successor.
func (e *exploration[S]) add(c *chunk, s S, from, step, label int) *successor {
	begin := len(c.keys)
	c.keys = e.specification.Key(c.keys, s)
	class := begin
	if e.options.Symmetry != nil {
		class = len(c.keys)
		c.keys = e.options.Symmetry(c.keys, s)
	}
	c.successors = append(c.successors, successor{
		from: int32(from), step: int32(step), label: int32(label),
		key: int32(begin), class: int32(class), end: int32(len(c.keys)),
		fingerprint: fingerprintOf(c.keys[class:]),
	})
	return &c.successors[len(c.successors)-1]
}

// expand checks the states of a batch and computes their successors. first is the number
// of the first state.
func (e *exploration[S]) expand(b *batch, first int) []chunk {
	chunks := e.chunks[:(b.len()+chunkStates-1)/chunkStates]
	e.growPerState(first + b.len())
	parallel(e.workers, len(chunks), func(worker, i int) {
		c := &chunks[i]
		c.clear()
		for j := i * chunkStates; j < min((i+1)*chunkStates, b.len()); j++ {
			e.expandState(c, e.decoders[worker](b.key(j)), b.key(j), first, j)
		}
	})
	return chunks
}

// expandState checks the state with an index in the batch, and adds its successors.
func (e *exploration[S]) expandState(c *chunk, s S, key []byte, first, index int) {
	number := first + index
	if i := e.brokenInvariant(s); i >= 0 {
		c.failure = earlier(c.failure, &failure{e.options.Invariants[i].Name, number, none})
	}
	if e.failure != nil {
		return
	}
	e.recordState(c, s, number)
	print := e.fingerprint(c, s, key)
	begin := len(c.successors)
	step := 0
	e.specification.Next(s, func(label int, next S) {
		to := e.add(c, next, index, step, label)
		if to.isRepeated = c.repeats(to, begin); !to.isRepeated {
			c.edges = c.edges.Add(edgeHash(print, label, to.fingerprint))
		}
		if i := e.brokenStepProperty(s, label, next); i >= 0 {
			c.failure = earlier(c.failure, &failure{e.options.Steps[i].Name, number, step})
		}
		step++
	})
	if step > maxSteps {
		panic("explore: a state has too many steps")
	}
}

// fingerprint is that of a state of the batch.
func (e *exploration[S]) fingerprint(c *chunk, s S, key []byte) fingerprint {
	if e.options.Symmetry == nil {
		return fingerprintOf(key)
	}
	class := e.options.Symmetry(c.keys, s)[len(c.keys):] // in the unused part of the buffer
	return fingerprintOf(class)
}

// repeats reports whether the last successor is an edge that is among those from begin on.
func (c *chunk) repeats(last *successor, begin int) bool {
	for i := begin; i < len(c.successors)-1; i++ {
		s := &c.successors[i]
		if s.fingerprint == last.fingerprint && s.label == last.label && bytes.Equal(c.class(s), c.class(last)) {
			return true
		}
	}
	return false
}

// brokenInvariant is the index of the first invariant that a state breaks, or none.
func (e *exploration[S]) brokenInvariant(s S) int {
	for i := range e.options.Invariants {
		if holds := e.options.Invariants[i].Holds; holds != nil && !holds(s) {
			return i
		}
	}
	return none
}

func (e *exploration[S]) brokenStepProperty(from S, label int, to S) int {
	for i := range e.options.Steps {
		if !e.options.Steps[i].Holds(from, label, to) {
			return i
		}
	}
	return none
}
