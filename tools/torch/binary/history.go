//go:build cgo && linux

package binary

/*
#include "adaptor.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"gaugeblock/spec"
)

// RecordHistory is CUDAAllocator::recordHistory. Contexts and times are not passed on.
func (a *Allocator) RecordHistory(h spec.HistoryOptions) error {
	if h.Context != nil || h.Now != nil {
		return &spec.NotSupportedError{Op: "record_history", Reason: "the adaptor gathers neither contexts nor times"}
	}
	var skip []string
	for _, action := range h.Skip {
		skip = append(skip, action.String())
	}
	a.say(strings.Join(skip, "\n"))
	a.give(flag(h.Enabled), uint64(h.MaxEntries), flag(h.Clear), uint64(h.Level))
	if err := a.call(C.TORCH_HISTORY); err != nil {
		return err
	}
	return nil
}

// HistoryEnabled is CUDAAllocator::isHistoryEnabled.
func (a *Allocator) HistoryEnabled() bool {
	return a.call(C.TORCH_HISTORY_ON) == nil && a.x.address != 0
}

// ring is a device's ring of entries.
func (a *Allocator) ring(dev spec.Device) ([]spec.HistoryEntry, error) {
	observers := a.onTrace
	a.onTrace = nil // what is answered is no news
	defer func() { a.onTrace = observers }()
	a.give(uint64(dev))
	if err := a.call(C.TORCH_RING); err != nil {
		return nil, err
	}
	entries := []spec.HistoryEntry{}
	for _, e := range unsafe.Slice((*C.gaugeblock_torch_entry)(unsafe.Pointer(a.x.entries)), a.x.num_entries) {
		entries = append(entries, entryOf(&e))
	}
	return entries, nil
}

// Annotate is CUDAAllocator::recordAnnotation; PyTorch records it for the current device.
func (a *Allocator) Annotate(_ spec.Device, fields []spec.AnnotationField) {
	var lines []string
	for _, f := range fields {
		lines = append(lines, f.Key, f.Value)
	}
	a.say(strings.Join(lines, "\n"))
	_ = a.call(C.TORCH_ANNOTATE)
}

// PushCompileContext is CUDAAllocator::pushCompileContext. PyTorch keeps contexts by the
// thread of the system, which here is one.
func (a *Allocator) PushCompileContext(_ spec.Thread, name string) {
	a.say(name)
	_ = a.call(C.TORCH_PUSH_CONTEXT)
}

// PopCompileContext is CUDAAllocator::popCompileContext.
func (a *Allocator) PopCompileContext(spec.Thread) { _ = a.call(C.TORCH_POP_CONTEXT) }

// SetUserMetadata is CUDAAllocator::setUserMetadata.
func (a *Allocator) SetUserMetadata(_ spec.Thread, text string) {
	a.say(text)
	_ = a.call(C.TORCH_SET_METADATA)
}

// UserMetadata is CUDAAllocator::getUserMetadata.
func (a *Allocator) UserMetadata(spec.Thread) string {
	if a.call(C.TORCH_GET_METADATA) != nil {
		return ""
	}
	return a.said()
}
