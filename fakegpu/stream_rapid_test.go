package fakegpu_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestStreamsAgainstModel holds, records, waits and drains at random, and asks
// after each step which events are complete. The model is the definition: a point
// in a stream is complete when everything before it is; a gate when it was opened,
// a wait when the point that it waits for is complete. It computes that anew for
// every question.
func TestStreamsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newStreamModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"":       m.check,
			"busy":   m.busy,
			"drain":  m.drain,
			"record": m.record,
			"wait":   m.wait,
			"sync":   m.sync,
		})
	})
}

const modelStreams, modelEvents = 4, 6

type streamModel struct {
	gpu     *fakegpu.GPU
	handles [modelStreams]spec.Stream
	events  [modelEvents]spec.EventHandle
	points  [modelEvents]modelPoint // where each event was recorded last
	items   [modelStreams][]modelItem
}

// modelPoint is behind the first n items of a stream.
type modelPoint struct{ stream, n int }

// modelItem is a gate, or a wait for a point.
type modelItem struct {
	gate bool
	open bool
	wait modelPoint
}

func newStreamModel(t *rapid.T) *streamModel {
	m := &streamModel{gpu: fakegpu.New(fakegpu.Config{})}
	var err error
	for i := range m.handles[1:] {
		if m.handles[i+1], err = m.gpu.CreateStream(0); err != nil {
			t.Fatal(err)
		}
	}
	for i := range m.events {
		if m.events[i], err = m.gpu.CreateEvent(0); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *streamModel) complete(p modelPoint) bool {
	for _, item := range m.items[p.stream][:p.n] {
		if item.gate && !item.open || !item.gate && !m.complete(item.wait) {
			return false
		}
	}
	return true
}

func (m *streamModel) end(s int) modelPoint { return modelPoint{s, len(m.items[s])} }

func (m *streamModel) check(t *rapid.T) {
	idle := true
	for s := range m.handles {
		idle = idle && m.complete(m.end(s))
	}
	for i, e := range m.events {
		got, err := m.gpu.QueryEvent(e)
		if err != nil || got != m.complete(m.points[i]) {
			t.Fatalf("event %d: complete %v (%v), the model says %v", i, got, err, !got)
		}
		m.refused(t, m.gpu.SynchronizeEvent(e), got)
	}
	m.refused(t, m.gpu.SynchronizeDevice(0), idle)
}

// refused expects that a wait ends exactly when it is over at once.
func (m *streamModel) refused(t *rapid.T, err error, over bool) {
	t.Helper()
	if over != (err == nil) || err != nil && !errors.Is(err, fakegpu.ErrEndlessWait) {
		t.Fatalf("waiting: %v, although the model says over: %v", err, over)
	}
}

func (m *streamModel) stream(t *rapid.T) int {
	return rapid.IntRange(0, modelStreams-1).Draw(t, "stream")
}

func (m *streamModel) event(t *rapid.T) int { return rapid.IntRange(0, modelEvents-1).Draw(t, "event") }

func (m *streamModel) busy(t *rapid.T) {
	s := m.stream(t)
	if err := m.gpu.Busy(0, m.handles[s]); err != nil {
		t.Fatal(err)
	}
	m.items[s] = append(m.items[s], modelItem{gate: true})
}

func (m *streamModel) drain(t *rapid.T) {
	s := m.stream(t)
	for i := range m.items[s] {
		m.items[s][i].open = true
	}
	m.refused(t, m.gpu.Drain(0, m.handles[s]), m.complete(m.end(s)))
}

func (m *streamModel) record(t *rapid.T) {
	s, e := m.stream(t), m.event(t)
	if err := m.gpu.RecordEvent(m.events[e], 0, m.handles[s]); err != nil {
		t.Fatal(err)
	}
	m.points[e] = m.end(s)
}

func (m *streamModel) wait(t *rapid.T) {
	s, e := m.stream(t), m.event(t)
	if err := m.gpu.WaitEvent(0, m.handles[s], m.events[e]); err != nil {
		t.Fatal(err)
	}
	m.items[s] = append(m.items[s], modelItem{wait: m.points[e]})
}

func (m *streamModel) sync(t *rapid.T) {
	s := m.stream(t)
	m.refused(t, m.gpu.SynchronizeStream(0, m.handles[s]), m.complete(m.end(s)))
}
