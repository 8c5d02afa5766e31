// Package memlimit bounds what a process keeps in memory for files of any length.
package memlimit

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"gaugeblock/spec/trace"
)

// Default is how much a process keeps in memory for what it reads, in bytes, unless it is told
// otherwise.
const Default = 2 << 30

// Collect lets the garbage collector work rarely, and harder as the memory in use comes near a
// size in bytes (0: Default), so that the process does not need much more than that.
func Collect(size uint64) {
	if size == 0 {
		size = Default
	}
	const rarely = 400
	debug.SetGCPercent(rarely)
	debug.SetMemoryLimit(int64(size))
}

// A Budget bounds what is kept in memory for what is read operation by operation, by one goroutine
// or by several. What counts is the memory that the whole process has in use, as the garbage
// collector last found it. When it was exceeded once, it stays so. A nil budget bounds nothing.
type Budget struct {
	limit    uint64
	calls    atomic.Uint64
	exceeded atomic.Bool
}

// New is a budget of n bytes, or of Default if n is 0.
func New(n uint64) *Budget {
	if n == 0 {
		n = Default
	}
	return &Budget{limit: n}
}

// Check is to be called after each operation. It looks now and then.
func (b *Budget) Check() error {
	const every = 256
	if b == nil {
		return nil
	}
	if b.calls.Add(1)%every == 0 {
		live := [1]metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live[:])
		if live[0].Value.Uint64() > b.limit {
			b.exceeded.Store(true)
		}
	}
	return b.Err()
}

// Err says that the budget was exceeded; nil if it was not.
func (b *Budget) Err() error {
	if b == nil || !b.exceeded.Load() {
		return nil
	}
	return &ExcessError{b.limit}
}

// An ExcessError says that more memory is needed than a budget allows.
type ExcessError struct{ Limit uint64 } // bytes

func (e *ExcessError) Error() string {
	return fmt.Sprintf("this needs more than %s of memory, which --max-memory raises", trace.SizeInWords(e.Limit))
}
