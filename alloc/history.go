package alloc

import "gaugeblock/spec"

// The program's side of the diaries (spec.HistoryRecorder, spec.Observable).

// RecordHistory starts or stops the diaries of all devices.
func (a *Allocator) RecordHistory(h spec.HistoryOptions) error {
	if h.Level < spec.ContextNever || h.Level > spec.ContextAll {
		return &spec.InvalidArgumentError{Op: "record_history", Reason: "unknown context level"}
	}
	if h.Enabled && h.Level > spec.ContextNever && h.Context == nil {
		return &spec.InvalidArgumentError{Op: "record_history", Reason: "a context level is given, but nobody to ask for the context"}
	}
	a.mu.Lock()
	a.history = h
	if !h.Enabled || h.Clear {
		a.annotations.clear()
	}
	a.annotations.resize(max(1, h.MaxEntries))
	a.mu.Unlock()
	for _, d := range a.devices {
		d.mu.Lock()
		d.diary.record(h)
		d.mu.Unlock()
	}
	return nil
}

// HistoryEnabled reports whether the diaries are kept.
func (a *Allocator) HistoryEnabled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.history.Enabled
}

// Annotate adds a note of the program to the history, if one is kept.
func (a *Allocator) Annotate(dev spec.Device, fields []spec.AnnotationField) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.history.Enabled {
		return
	}
	note := spec.Annotation{Device: dev, Fields: append([]spec.AnnotationField(nil), fields...)}
	if a.history.Now != nil {
		note.TimeNS = a.history.Now()
	}
	a.annotations.add(note)
}

// PushCompileContext names what the thread is compiling, until it is popped. It
// does nothing unless a history is kept.
func (a *Allocator) PushCompileContext(t spec.Thread, name string) {
	if !a.HistoryEnabled() {
		return
	}
	a.notes.mu.Lock()
	defer a.notes.mu.Unlock()
	a.notes.compile[t] = append(a.notes.compile[t], name)
	a.notes.used.Store(true)
}

// PopCompileContext takes back the thread's last PushCompileContext.
func (a *Allocator) PopCompileContext(t spec.Thread) {
	if !a.HistoryEnabled() {
		return
	}
	a.notes.mu.Lock()
	defer a.notes.mu.Unlock()
	if stack := a.notes.compile[t]; len(stack) > 1 {
		a.notes.compile[t] = stack[:len(stack)-1]
	} else {
		delete(a.notes.compile, t)
	}
}

// SetUserMetadata attaches a text to the thread's entries.
func (a *Allocator) SetUserMetadata(t spec.Thread, text string) {
	a.notes.mu.Lock()
	defer a.notes.mu.Unlock()
	a.notes.metadata[t] = text
	a.notes.used.Store(true)
}

// UserMetadata is the text set last for the thread.
func (a *Allocator) UserMetadata(t spec.Thread) string {
	a.notes.mu.Lock()
	defer a.notes.mu.Unlock()
	return a.notes.metadata[t]
}

// OnOutOfMemory registers an observer of failed requests, on all devices.
func (a *Allocator) OnOutOfMemory(f func(spec.OutOfMemoryReport)) {
	for _, d := range a.devices {
		d.mu.Lock()
		d.outOfMemory = append(d.outOfMemory, f)
		d.mu.Unlock()
	}
}

// OnTrace registers a listener to the diaries of all devices.
func (a *Allocator) OnTrace(f func(spec.HistoryEntry)) {
	for _, d := range a.devices {
		d.mu.Lock()
		d.diary.track(f)
		d.mu.Unlock()
	}
}

// OnNeedMemory registers a function that frees memory when asked.
func (a *Allocator) OnNeedMemory(f func() bool) {
	for _, d := range a.devices {
		d.mu.Lock()
		d.needMemory = append(d.needMemory, f)
		d.mu.Unlock()
	}
}
