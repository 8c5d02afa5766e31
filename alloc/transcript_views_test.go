package alloc_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/internal/sizes"
	"gaugeblock/spec"
)

// views show the state, by name.
var views = map[string]func(c *conversation, l line) string{
	"layout":   (*conversation).layout,   // layout [pool=N]: the memory, a segment a line
	"unmapped": (*conversation).unmapped, // the ranges of expandable segments without memory
	"sizes":    (*conversation).sizes,    // how far each expandable segment has grown
	"stats":    (*conversation).stats,    // stats KEY…: statistics
	"pending":  (*conversation).pending,  // what freed blocks wait for
	"pools":    (*conversation).pools,    // the private pools
	"live":     (*conversation).live,     // live pool=N NAME…: are exactly these allocated?
	"capture":  (*conversation).capture,  // capture stream=N: its state
	"more":     (*conversation).more,     // the statistics that not every release has
	"calls":    func(c *conversation, _ line) string { return c.calls },
	"leaks":    func(c *conversation, _ line) string { return strings.Join(c.leaks(), "\n") },
}

// layout draws the memory.
func (c *conversation) layout(l line) string {
	snapshot, err := c.allocator.SnapshotPool(l.pool())
	l.must(err)
	var out strings.Builder
	for _, s := range snapshot.Segments {
		kind := s.PoolKind.String()
		if s.Expandable {
			kind += " expandable"
		}
		fmt.Fprintf(&out, "%s %s on %s", c.name(s.Address), kind, c.streamName(s.Stream))
		if !s.Pool.IsDefault() {
			fmt.Fprintf(&out, " pool %d", s.Pool.User)
		}
		out.WriteString(":")
		for _, b := range s.Blocks {
			mark := map[spec.BlockState]string{spec.Inactive: "free", spec.ActiveAllocated: "used", spec.ActivePendingFree: "pending"}[b.State]
			fmt.Fprintf(&out, " [%s %s]", mark, sizes.Format(b.Size))
		}
		out.WriteString("\n")
	}
	if out.Len() == 0 {
		return "no memory"
	}
	return out.String()
}

// more shows the statistics that not every release has.
func (c *conversation) more(l line) string {
	stats, err := c.allocator.MoreStats(0)
	l.must(err)
	out := fmt.Sprintf("rejections %d\n", stats.NumOOMRejections)
	for _, p := range stats.ReservedByPool {
		all := p.ReservedBytes[spec.Aggregate]
		out += fmt.Sprintf("pool %d: %s, peak %s, allocated %s, freed %s\n", p.Pool.User,
			sizes.Format(uint64(all.Current)), sizes.Format(uint64(all.Peak)),
			sizes.Format(uint64(all.Allocated)), sizes.Format(uint64(all.Freed)))
	}
	return out
}

// unmapped lists ranges without memory.
func (c *conversation) unmapped(l line) string {
	var out strings.Builder
	l.must(c.allocator.Inspect(0, spec.Visitor{
		Unmapped: func(b *spec.BlockView) {
			fmt.Fprintf(&out, "%s %s on %s\n", c.name(b.Address), sizes.Format(b.Size), c.streamName(b.Stream))
		},
	}))
	return out.String()
}

// sizes lists the expandable segments in the order in which they were made.
func (c *conversation) sizes(l line) string {
	grown, err := c.allocator.ExpandableSegmentSizes(0)
	l.must(err)
	var out strings.Builder
	for _, s := range grown {
		fmt.Fprintf(&out, "%v on %s: %s\n", s.PoolKind, c.streamName(s.Stream), sizes.Format(s.Mapped))
	}
	return out.String()
}

// stats prints the statistics whose keys are given.
func (c *conversation) stats(l line) string {
	stats, err := c.allocator.Stats(0)
	l.must(err)
	all := stats.Map()
	var out strings.Builder
	for _, a := range l.d.CmdArgs {
		value, ok := all[a.Key]
		if !ok {
			l.t.Fatalf("%s: there is no statistic %q", l.d.Pos, a.Key)
		}
		text := strconv.FormatInt(value, 10)
		if strings.Contains(a.Key, "bytes") {
			text = sizes.Format(uint64(value))
		}
		fmt.Fprintf(&out, "%s %s\n", a.Key, text)
	}
	return out.String()
}

// pending lists what freed blocks wait for.
func (c *conversation) pending(l line) string {
	var out strings.Builder
	l.must(c.allocator.Inspect(0, spec.Visitor{
		PendingEvent: func(p *spec.PendingEventView) {
			fmt.Fprintf(&out, "%s waits for %s\n", c.name(p.Block), c.streamName(p.Stream))
		},
		DeferredFree: func(d *spec.DeferredFreeView) {
			fmt.Fprintf(&out, "%s is deferred, %d markers\n", c.name(d.Block), d.Markers)
		},
	}))
	return out.String()
}

// pools lists the private pools by id.
func (c *conversation) pools(l line) string {
	var begun []spec.PoolID
	var views []spec.PoolView
	l.must(c.allocator.Inspect(0, spec.Visitor{
		Routing: func(id spec.PoolID) { begun = append(begun, id) },
		Pool:    func(p *spec.PoolView) { views = append(views, *p) },
	}))
	var out strings.Builder
	for _, p := range views {
		if p.ID.IsDefault() {
			continue
		}
		fmt.Fprintf(&out, "pool %d: use count %d, %d driver segments", p.ID.User, p.UseCount, p.DriverSegments)
		for _, mark := range []struct {
			set  bool
			name string
		}{
			{p.Freeable, "freeable"}, {p.UseOnOOM, "use-on-oom"}, {p.NoSplit, "no-split"}, {slices.Contains(begun, p.ID), "begun"},
		} {
			if mark.set {
				out.WriteString(", " + mark.name)
			}
		}
		out.WriteString("\n")
	}
	if out.Len() == 0 {
		return "no private pools"
	}
	return out.String()
}

// live says whether exactly the named blocks of a pool are allocated.
func (c *conversation) live(l line) string {
	var live []spec.Ptr
	for _, a := range l.d.CmdArgs {
		if len(a.Vals) == 0 {
			live = append(live, c.blocks[a.Key])
		}
	}
	same, err := c.allocator.CheckPoolLiveAllocations(0, l.pool(), live)
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprint(same)
}

// capture is the capture state of a stream.
func (c *conversation) capture(l line) string {
	status, err := c.gpu.CaptureStatus(0, c.stream(l))
	l.must(err)
	return map[spec.CaptureStatus]string{
		spec.CaptureNone: "not captured", spec.CaptureActive: "captured", spec.CaptureInvalidated: "captured in vain",
	}[status.Status]
}

// leaks lists what is still held of the driver, beside the conversation's streams.
func (c *conversation) leaks() []string {
	return slices.DeleteFunc(c.gpu.Leaks(), func(l string) bool { return strings.HasPrefix(l, "stream ") })
}
