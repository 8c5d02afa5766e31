package torch

import (
	"fmt"
	"strconv"
	"strings"

	"gaugeblock/fakegpu"
	"gaugeblock/internal/sizes"
	"gaugeblock/spec"
)

// stageViews are what a line of a program can ask.
var stageViews = map[string]func(s *stage, w *words) error{
	"layout": (*stage).layout, // layout [pool=N]: the memory, a segment a line
	"stats":  (*stage).stats,  // stats KEY… [dev=N]
	"held":   (*stage).held,   // held [dev=N]: what the driver has given, beside what the allocator counts
	"events": func(s *stage, _ *words) error { return s.leaks("event") },
	"pages":  func(s *stage, _ *words) error { return s.leaks("page") },
	"ranges": func(s *stage, _ *words) error { return s.leaks("reserved range") },
	"range-sizes": func(s *stage, _ *words) error {
		for _, l := range s.gpu.Leaks() {
			if strings.HasPrefix(l, "reserved range") {
				s.say("%s", l)
			}
		}
		return nil
	},
	"hazards":    (*stage).hazards,    // what work on the device is wrong
	"violations": (*stage).violations, // which work has touched what it may not
	"use-count": func(s *stage, w *words) error { // use-count pool=N
		n, err := s.allocator.PoolUseCount(w.device(), w.pool())
		if err == nil {
			s.say("%d", n)
		}
		return err
	},
	"live":    (*stage).live, // live pool=N NAME…: are exactly these allocated?
	"sizes":   (*stage).sizes,
	"capture": (*stage).capture, // capture stream=N: its state
	"calls":   (*stage).made,    // calls CALL…: how often the latest command has made these
	"finish":  (*stage).finish,  // gives all back, and says the worst that is left
	"since":   (*stage).since,   // since: the calls made since the mark
	"ring":    (*stage).ring,    // ring [dev=N]: the recorded history
	"history-on": func(s *stage, _ *words) error {
		s.say("%v", s.allocator.HistoryEnabled())
		return nil
	},
}

// layout draws the memory.
func (s *stage) layout(w *words) error {
	snapshot, err := s.allocator.SnapshotPool(w.pool())
	if err != nil {
		return err
	}
	for _, g := range snapshot.Segments {
		text := fmt.Sprintf("%s %s", s.name(g.Address), g.PoolKind)
		if g.Expandable {
			text += " expandable"
		}
		text += " on " + s.streamName(g.Device, g.Stream)
		if !g.Pool.IsDefault() {
			text += fmt.Sprintf(" pool %d", g.Pool.User)
		}
		text += ":"
		for _, b := range g.Blocks {
			mark := map[spec.BlockState]string{spec.Inactive: "free", spec.ActiveAllocated: "used", spec.ActivePendingFree: "pending"}[b.State]
			text += fmt.Sprintf(" [%s %s]", mark, sizes.Format(b.Size))
		}
		s.say("%s", text)
	}
	if len(snapshot.Segments) == 0 {
		s.say("no memory")
	}
	return nil
}

func (s *stage) stats(w *words) error {
	stats, err := s.allocator.Stats(w.device())
	if err != nil {
		return err
	}
	all := stats.Map()
	for _, key := range w.fields {
		if strings.HasPrefix(key, "dev=") {
			continue
		}
		value, known := all[key]
		if !known {
			w.fail("there is no statistic %q", key)
		}
		text := strconv.FormatInt(value, 10)
		if strings.Contains(key, "bytes") && value >= 0 {
			text = sizes.Format(uint64(value))
		}
		s.say("%s %s", key, text)
	}
	return nil
}

func (s *stage) held(w *words) error {
	free, total, err := s.gpu.MemInfo(w.device())
	if err != nil {
		return err
	}
	stats, err := s.allocator.Stats(w.device())
	if err != nil {
		return err
	}
	reserved := stats.ReservedBytes[spec.Aggregate].Current
	text := strconv.FormatInt(reserved, 10)
	if reserved >= 0 {
		text = sizes.Format(uint64(reserved))
	}
	s.say("%s from the driver, %s counted", sizes.Format(total-free), text)
	return nil
}

// leaks counts what the process has of the driver, of a kind.
func (s *stage) leaks(kind string) error {
	n := 0
	for _, l := range s.gpu.Leaks() {
		if strings.HasPrefix(l, kind) {
			n++
		}
	}
	s.say("%d", n)
	return nil
}

// hazards says each kind once, with the memory.
func (s *stage) hazards(*words) error {
	found := s.gpu.Hazards()
	for _, h := range found {
		text := fmt.Sprintf("%s: %s", h.Kind, s.name(h.Range.Ptr))
		if h.Kind == fakegpu.Unordered {
			text = fmt.Sprintf("reused too early: %s", s.name(h.Range.Ptr))
		}
		s.say("%s", text)
	}
	if len(found) == 0 {
		s.say("none")
	}
	return nil
}

func (s *stage) violations(*words) error {
	found := s.gpu.Violations()
	for _, v := range found {
		s.say("%s at %s: %s", v.Kind, s.name(v.Range.Ptr), v.Reason)
	}
	if len(found) == 0 {
		s.say("none")
	}
	return nil
}

func (s *stage) live(w *words) error {
	var live []spec.Ptr
	for _, f := range w.fields {
		if b, found := s.blocks[f]; found {
			live = append(live, b.at)
		}
	}
	same, err := s.allocator.CheckPoolLiveAllocations(w.device(), w.pool(), live)
	if err == nil {
		s.say("%v", same)
	}
	return err
}

func (s *stage) sizes(w *words) error {
	grown, err := s.allocator.ExpandableSegmentSizes(w.device())
	for _, g := range grown {
		s.say("%v on %s: %s", g.PoolKind, s.streamName(w.device(), g.Stream), sizes.Format(g.Mapped))
	}
	if err == nil && len(grown) == 0 {
		s.say("none")
	}
	return err
}

func (s *stage) capture(w *words) error {
	status, err := s.gpu.CaptureStatus(w.device(), s.stream(w))
	if err != nil {
		return err
	}
	s.say("%s", map[spec.CaptureStatus]string{
		spec.CaptureNone: "not captured", spec.CaptureActive: "captured", spec.CaptureInvalidated: "invalidated",
	}[status.Status])
	return nil
}

func (s *stage) made(w *words) error {
	count := func(list []fakegpu.CallCount, call string) (n uint64) {
		for _, c := range list {
			if c.Call == call {
				n += c.Count
			}
		}
		return n
	}
	for _, call := range w.fields {
		s.say("%s %d", call, count(s.gpu.Calls(), call)-count(s.calls, call))
	}
	return nil
}

func (s *stage) ring(w *words) error {
	snapshot, err := s.allocator.Snapshot()
	if err != nil {
		return err
	}
	for _, e := range snapshot.Traces[w.device()] {
		if e.Action == spec.ActionSnapshot {
			if w.has("snapshots") {
				s.say("%s, device %d", e.Action, e.Device)
				break // the adaptor takes some more
			}
			continue
		}
		s.say("%s %s %s", e.Action, s.name(e.Addr), sizes.Format(e.Size))
	}
	return nil
}
