//go:build cgo && linux

package host

/*
#include "gaugeblock_cuda_table.h"
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// passed is memory that a word of an operation names: how much, and whether the operation
// reads it or writes it.
type passed struct {
	word    int
	bytes   func(w *words) uint64
	written bool
}

func fixed(n uint64) func(*words) uint64 { return func(*words) uint64 { return n } }

// many is as many things of a size as another word says.
func many(word int, size uint64) func(*words) uint64 {
	return func(w *words) uint64 { return uint64(w[word]) * size }
}

// aText is a text with a zero at its end.
func aText(word int) func(*words) uint64 {
	return func(w *words) uint64 {
		if w[word] == 0 {
			return 0
		}
		return uint64(len(text(w[word]))) + 1
	}
}

// places lists the memory that operations name.
var places = map[C.int][]passed{
	C.GAUGEBLOCK_PROPERTIES:        {{3, fixed(256), true}},
	C.GAUGEBLOCK_CAPTURE_INFO:      {{5, many(6, 8), true}},
	C.GAUGEBLOCK_NODE_DEPENDENCIES: {{1, many(2, 8), true}},
	C.GAUGEBLOCK_IPC_GET:           {{1, fixed(64), true}},
	C.GAUGEBLOCK_IPC_OPEN:          {{1, fixed(64), false}},
	C.GAUGEBLOCK_EVENT_SHARE:       {{1, fixed(64), true}},
	C.GAUGEBLOCK_EVENT_OPEN:        {{0, fixed(64), false}},
	C.GAUGEBLOCK_GRAPH_NODES:       {{1, many(2, 8), true}},
	C.GAUGEBLOCK_GRAPH_EMPTY_NODE:  {{1, many(2, 8), false}},
	C.GAUGEBLOCK_CAPTURE_DEPENDS:   {{2, many(3, 8), false}},
	C.GAUGEBLOCK_COPY_IN:           {{3, many(4, 1), false}},
	C.GAUGEBLOCK_COPY_OUT:          {{2, many(4, 1), true}},
	C.GAUGEBLOCK_LAUNCH:            {{2, aText(2), false}, {3, many(4, 16), false}, {5, many(6, 16), false}},
	C.GAUGEBLOCK_FAULT:             {{0, aText(0), false}, {2, aText(2), false}},
	C.GAUGEBLOCK_HAZARD:            {{1, many(2, 1), true}},
}

// passesDescriptors reports whether an operation names a descriptor, which is of the process that calls.
func passesDescriptors(operation C.int) bool {
	switch operation {
	case C.GAUGEBLOCK_PAGE_EXPORT, C.GAUGEBLOCK_PAGE_IMPORT, C.GAUGEBLOCK_POOL_EXPORT, C.GAUGEBLOCK_POOL_IMPORT:
		return true
	}
	return false
}

// performRemotely asks the machine of another process.
func (p *Process) performRemotely(operation C.int, mode spec.CaptureMode, w *words) int {
	switch operation {
	case C.GAUGEBLOCK_LACKS:
		p.lacks(text(w[0]))
		return 0
	case C.GAUGEBLOCK_FINISH:
		return 0
	case C.GAUGEBLOCK_BYTES_IN_HOST:
		w[0] = 0
		return 0
	case C.GAUGEBLOCK_HOST_FUNCTION, C.GAUGEBLOCK_COMPUTE, C.GAUGEBLOCK_WAIT_VALUE:
		p.lacks("what looks at host memory later, in a process without the machine,")
		return notSupported
	}
	q := request{Operation: int32(operation), Words: *numbers(w), Caller: callingThread(mode)}
	if operation == C.GAUGEBLOCK_PAGE_IMPORT || operation == C.GAUGEBLOCK_POOL_IMPORT {
		q.Memory = [][]byte{contentOf(w)}
	}
	for _, m := range places[operation] {
		var content []byte
		if n := m.bytes(w); !m.written {
			content = append(content, memory(w[m.word], C.uint64_t(n))...)
		}
		q.Memory = append(q.Memory, content)
	}
	sizes := make([]uint64, len(places[operation])) // before the answer changes the words
	for i, m := range places[operation] {
		sizes[i] = m.bytes(w)
	}
	a := p.remote.ask(&q)
	for i, m := range places[operation] {
		if m.written && i < len(a.Memory) {
			copy(memory(w[m.word], C.uint64_t(sizes[i])), a.Memory[i])
		}
	}
	if (operation == C.GAUGEBLOCK_PAGE_EXPORT || operation == C.GAUGEBLOCK_POOL_EXPORT) && a.Result == 0 {
		if w[1] == 0 {
			return putDescriptor(w[2], a.Memory[0])
		}
		copy(memory(w[2], 64), a.Memory[0])
		return 0
	}
	keep := places[operation]
	before := *w
	*numbers(w) = a.Words
	for _, m := range keep {
		w[m.word] = before[m.word]
	}
	return int(a.Result)
}

func numbers(w *words) *[8]uint64 { return (*[8]uint64)(unsafe.Pointer(w)) }

// Answer performs a call of another process, whoever carries it: an operation, with the capture
// mode of its thread in the upper bits, its words and the memory that they name, one piece for
// each. Words and pieces are changed to what the call answers. The result is CUDA's number of an
// error.
func (p *Process) Answer(operation int32, w *[8]uint64, memory [][]byte) (result int32, answered [][]byte) {
	p.served = &fakegpu.Caller{Mode: spec.CaptureMode(operation >> C.GAUGEBLOCK_MODE)}
	a := p.answer(&request{Operation: operation & (1<<C.GAUGEBLOCK_MODE - 1), Words: *w, Memory: memory})
	*w = a.Words
	return a.Result, a.Memory
}

// answer performs a call of another process.
func (p *Process) answer(q *request) (a answer) {
	operation := C.int(q.Operation)
	w := (*words)(unsafe.Pointer(&q.Words))
	if len(places[operation]) == 0 && !passesDescriptors(operation) {
		a.Result = int32(p.perform(operation, w))
		a.Words = q.Words
		return a
	}
	switch operation {
	case C.GAUGEBLOCK_PAGE_EXPORT:
		content, result := p.exported(spec.PageHandle(w[0]), share(w[1]))
		return answer{Result: int32(result), Words: q.Words, Memory: [][]byte{content}}
	case C.GAUGEBLOCK_PAGE_IMPORT:
		page, result := p.imported(q.Memory[0], share(w[0]))
		w[2] = C.uint64_t(page)
		return answer{Result: int32(result), Words: q.Words}
	case C.GAUGEBLOCK_POOL_EXPORT:
		content, result := p.exportPool(uint64(w[0]))
		return answer{Result: int32(result), Words: q.Words, Memory: [][]byte{content}}
	case C.GAUGEBLOCK_POOL_IMPORT:
		result := p.importPool(q.Memory[0], w)
		return answer{Result: int32(result), Words: q.Words}
	}
	var held []unsafe.Pointer
	defer func() {
		for _, h := range held {
			C.free(h)
		}
	}()
	sizes := make([]uint64, len(places[operation]))
	for i, m := range places[operation] {
		sizes[i] = uint64(len(q.Memory[i]))
		if m.written {
			sizes[i] = m.bytes(w)
		}
		room := C.calloc(1, C.size_t(sizes[i])+1)
		held = append(held, room)
		copy(unsafe.Slice((*byte)(room), sizes[i]), q.Memory[i])
		w[m.word] = C.uint64_t(uintptr(room))
	}
	a.Result = int32(p.perform(operation, w))
	if operation == C.GAUGEBLOCK_COPY_OUT && a.Result == 0 {
		a.Result = int32(number(p.await(func() error { return p.GPU.SynchronizeStream(device(w[0]), stream(w[1])) })))
	}
	for i, m := range places[operation] {
		var content []byte
		if m.written {
			content = append(content, unsafe.Slice((*byte)(held[i]), sizes[i])...)
		}
		a.Memory = append(a.Memory, content)
	}
	a.Words = q.Words
	return a
}
