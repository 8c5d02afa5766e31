package torch

import (
	"math/rand/v2"
	"slices"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// A program is made for the release that it is performed on, which its header names: it has the
// settings and options that the release knows.

// rulesOf are the rules of a program's release; those of the zero value if it names none.
func rulesOf(h *trace.Header) *upstream.Rules {
	release, _ := upstream.Find(h.Release)
	return &release.Rules
}

// releaseNumber is 213 of 2.13: releases in order.
func releaseNumber(h *trace.Header) int {
	for i, r := range upstream.Releases() {
		if r.Name == h.Release {
			return 206 + i // the first is 2.6
		}
	}
	return 211
}

// knownSettings leaves out what a release refuses.
func knownSettings(text string, g settings.Grammar) string {
	var kept []string
	for _, item := range splitSettings(text) {
		if _, err := g.Parse(item, spec.DefaultGeometry()); err == nil {
			kept = append(kept, item)
		}
	}
	whole := strings.Join(kept, ",")
	if _, err := g.Parse(whole, spec.DefaultGeometry()); err != nil {
		return ""
	}
	return whole
}

// withReserve is the header's settings, for half of the programs with expandable segments with a reserve for one,
// which old releases do not know.
func withReserve(h *trace.Header) string {
	reserves := []string{"0.25", "0.1", "0.6", "1", "0.125G", "7"}
	seed := h.Seed / 64
	if seed%2 == 0 || !strings.Contains(h.Settings, "expandable_segments:True") || strings.Contains(h.Settings, "reserve:") {
		return h.Settings
	}
	return h.Settings + ",expandable_segments_reserve:" + reserves[seed/2%int64(len(reserves))]
}

// splitSettings splits a string of settings at the commas outside of brackets.
func splitSettings(text string) (items []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				items = append(items, text[from:i])
				from = i + 1
			}
		}
	}
	return append(items, text[from:])
}

// fit makes an operation one that the release knows.
func fit(op *trace.Op, h *trace.Header) {
	switch op.Kind {
	case trace.OpConfigure:
		op.Settings = knownSettings(op.Settings, rulesOf(h).Settings)
	case trace.OpPoolCreate:
		op.NoSplit = op.NoSplit && releaseNumber(h) >= 210
	}
}

// A streamSwitcher makes other streams current than a program has by itself, in one program of two.
type streamSwitcher struct {
	header *trace.Header
	random *rand.Rand // nil: in this program it does not
}

func newStreamSwitcher(h *trace.Header, seed uint64) *streamSwitcher {
	w := &streamSwitcher{header: h}
	if seed/16%2 == 1 {
		w.random = rand.New(rand.NewPCG(seed, 0))
	}
	return w
}

// switchCurrent lets an operation be called with any stream of its device current.
func (w *streamSwitcher) switchCurrent(op *trace.Op) {
	if w.random == nil || op.Current != nil || op.Kind == trace.OpMalloc || op.Kind.Target() != trace.TargetAllocator || w.random.IntN(3) > 0 {
		return
	}
	each := (len(w.header.Streams) - 1) / w.header.Devices
	current := w.random.IntN(each + 1)
	if current > 0 {
		current += int(op.Device) * each
	}
	op.Current = &current
}

// captured are the operations that have begun the captures under way.
type captured []trace.Op

func (c *captured) follow(op *trace.Op) {
	switch op.Kind {
	case trace.OpCaptureBegin:
		*c = append(*c, *op)
	case trace.OpCaptureEnd:
		*c = slices.DeleteFunc(*c, func(begun trace.Op) bool { return begun.Stream == op.Stream })
	}
}

// current is the stream that is current in a call of the allocator other than malloc, by
// trace.Op.Current.
func (c captured) current(op *trace.Op) int {
	if op.Kind == trace.OpMalloc || op.Kind.Target() != trace.TargetAllocator {
		return 0
	}
	if op.Current != nil {
		return *op.Current
	}
	for _, begun := range slices.Backward(c) {
		if begun.Device == op.Device {
			return begun.Stream
		}
	}
	return 0
}

func (c captured) has(stream int) bool {
	return slices.ContainsFunc(c, func(begun trace.Op) bool { return begun.Stream == stream })
}
