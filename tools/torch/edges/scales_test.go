package edges

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/internal/kept"
	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestScalesAreAsBefore: what each scale makes of sizes, operations, limits and places is as it was.
func TestScalesAreAsBefore(t *testing.T) {
	var told strings.Builder
	for i := range scales {
		s := &scales[i]
		if Find(s.Name) != s || Find(s.Name+"?") != nil {
			t.Errorf("%s is not found", s.Name)
		}
		h := s.Header(trace.Header{Devices: 1, Streams: make([]spec.Stream, 4), StatColumns: []string{"x"}}, []spec.Stream{0, 0x20})
		fmt.Fprintf(&told, "%s: %q, %d bytes, streams %v, %d columns, units %d bytes apart, exact %v\n", s.Name, h.Settings, h.TotalMemory, h.Streams, len(h.StatColumns), s.stride(), s.Exact())
		var config fakegpu.Config
		d := s.NewDevice()
		config.FreeWaits = true
		d.Hardware(&config)
		fmt.Fprintf(&told, "  waits %v; units", config.FreeWaits)
		for _, p := range append(s.pieces(), Size{Bytes: 1}, Size{Bytes: 3*mib + 1}) {
			fmt.Fprintf(&told, " %d=%d=%d", p.Bytes, s.units(p.Bytes), config.Charge(p.Bytes))
		}
		fmt.Fprint(&told, "; places")
		policy := config.Addresses(0)
		for _, bytes := range []uint64{s.Small.Bytes, s.Large.Bytes, s.Small.Bytes} {
			fmt.Fprintf(&told, " %v", policy.Place(bytes))
		}
		policy.Vacate(base, 0)
		fmt.Fprintf(&told, " %v %v\n", d.PlaceRange(s.Large.Bytes), d.PlaceRange(s.Small.Bytes))
		ops := []trace.Op{{Kind: trace.OpMalloc, Size: 77}, {Kind: trace.OpConfigure, Settings: "none"}, {Kind: trace.OpSetMemoryFraction}, {Kind: trace.OpFree, Size: 3}}
		for _, r := range s.Requests {
			ops = append(ops, trace.Op{Kind: trace.OpMalloc, Size: r.Units})
		}
		for _, m := range s.MaxSplits {
			ops = append(ops, trace.Op{Kind: trace.OpConfigure, Settings: bounded.MaxSplitSettings(m.Units)})
		}
		for _, op := range ops {
			was := op
			err := s.Operation(&op)
			fmt.Fprintf(&told, "  %s %d %q: %d %q %v\n", op.Kind, was.Size, was.Settings, op.Size, op.Settings, err)
		}
		for _, op := range s.WholeLimit() {
			fmt.Fprintf(&told, "  %s %v\n", op.Kind, op.Fraction)
		}
	}
	kept.Compare(t, filepath.Join("testdata", "scales"), told.String())
}

// TestLayouts: what a snapshot shows of an allocator on a device is the state of the specification, in units.
func TestLayouts(t *testing.T) {
	s := Find("core_tiny") // units of 1 MiB in small segments, of 4 MiB in large ones
	state := &bounded.State{Segments: []model.Segment{
		{Address: bounded.AddressBase, Size: 4, Stream: 1, PoolKind: spec.LargePool, Blocks: []model.Block{
			{Address: bounded.AddressBase, Size: 2, RequestedSize: 2, State: spec.ActiveAllocated}, {Address: bounded.AddressBase + 2, Size: 2, RequestedSize: 2},
		}},
		{Address: bounded.AddressBase + 4, Size: 2, Stream: 2, Pool: spec.PoolID{Capture: 3}, PoolKind: spec.SmallPool, Blocks: []model.Block{
			{Address: bounded.AddressBase + 4, Size: 1, RequestedSize: 1, State: spec.ActivePendingFree}, {Address: bounded.AddressBase + 5, Size: 1, Unmapped: true},
		}},
		{Address: bounded.AddressBase + 6, Size: 2, PoolKind: spec.SmallPool, Blocks: []model.Block{{Address: bounded.AddressBase + 6, Size: 2, RequestedSize: 1, State: spec.ActiveAllocated}}},
	}}
	d := s.NewDevice()
	large, small, other := d.Place(16*mib), d.Place(2*mib), d.Place(2*mib)
	streams := []spec.Stream{0, 16, 32}
	segments := []spec.Segment{
		{Address: other, Stream: 0, PoolKind: spec.SmallPool, Blocks: []spec.Block{{Address: other, Size: 2 * mib, RequestedSize: mib, State: spec.ActiveAllocated}}},
		{Address: large, Stream: 16, PoolKind: spec.LargePool, Blocks: []spec.Block{
			{Address: large, Size: 8 * mib, RequestedSize: 8 * mib, State: spec.ActiveAllocated}, {Address: large + spec.Ptr(8*mib), Size: 8 * mib, RequestedSize: mib},
		}},
		{Address: small, Stream: 32, Pool: spec.PoolID{Capture: 3}, PoolKind: spec.SmallPool, Blocks: []spec.Block{{Address: small, Size: mib, RequestedSize: mib, State: spec.ActivePendingFree}}},
	}
	want := Layout{}.Of(state)
	got, err := Layout{}.Seen(d, segments, streams)
	const words = "[active_allocated 2 at 0 (2 requested, stream 1, pool 0, large), inactive 2 at 2 (0 requested, stream 1, pool 0, large), " +
		"active_pending_free 1 at 4 (1 requested, stream 2, pool 3, small), active_allocated 2 at 6 (1 requested, stream 0, pool 0, small)]"
	if err != nil || !slices.Equal(got, want) || got.Hash() != want.Hash() || got.String() != words {
		t.Errorf("%v, %v\nwant %v", got, err, want)
	}
	if (Layout{}).Hash() == want.Hash() || (Layout{}).Hash() == 0 || (Layout{}).String() != "[]" {
		t.Error("the layout of nothing")
	}
	for i := range want {
		other := slices.Clone(want)
		if other[i].units++; other.Hash() == want.Hash() {
			t.Errorf("block %d does not matter", i)
		}
	}
	marked := *s
	marked.CountAsSmall = true
	as := marked.NewDevice()
	as.placed = d.placed
	if all, err := (Layout{}).Seen(as, segments, streams); err != nil || all[0].kind != spec.SmallPool {
		t.Errorf("all count as small: %v, %v", all, err)
	}
	segments[0].Blocks[0].RequestedSize = 2 * mib // after a restore that is all of the block
	if all, err := (Layout{}).Seen(d, segments, streams); err != nil || all[3].requested != 2 {
		t.Errorf("%v, %v", all, err)
	}
	segments[0].Blocks[0].RequestedSize = 5
	if all, err := (Layout{}).Seen(d, segments, streams); err != nil || all[3].requested != 5 {
		t.Errorf("%v, %v", all, err)
	}
	for name, change := range map[string]func(*spec.Segment){
		"the block of 1048575 bytes at 0x10000000000 is no whole number of units": func(g *spec.Segment) { g.Blocks[0].Size = mib - 1 },
		"the block of 4194304 bytes at 0x10000000001 is no whole number of units": func(g *spec.Segment) { g.Blocks[0].Address, g.Blocks[0].Size = large+1, 4*mib },
		"the segment at 0x1 is not on the device":                                 func(g *spec.Segment) { g.Address = 1 },
		"the segment at 0x10002000000 is not on the device":                       func(g *spec.Segment) { g.Address = other + 8<<20 },
	} {
		changed := segments[1]
		changed.Blocks = slices.Clone(changed.Blocks)
		change(&changed)
		if _, err := (Layout{}).Seen(d, []spec.Segment{changed}, streams); err == nil || err.Error() != name {
			t.Errorf("%v, want %s", err, name)
		}
	}
	fewer := s.NewDevice()
	fewer.Place(16 * mib)
	if more := d.Beyond(fewer); !slices.Equal(more, []spec.Range{{Ptr: small, Bytes: 2 * mib}, {Ptr: other, Bytes: 2 * mib}}) || fewer.Beyond(d) != nil || d.Beyond(d) != nil {
		t.Errorf("beyond: %v", more)
	}
}

// TestLimit: the limit in bytes that is set before a malloc decides as the specification's does: with what is reserved, or,
// if that is too much, with what is left when the cache is emptied.
func TestLimit(t *testing.T) {
	s := Find("faults_kinds")
	segment := func(at spec.Ptr, of Size, kind spec.PoolKind, state spec.BlockState) model.Segment {
		at += bounded.AddressBase
		return model.Segment{Address: at, Size: of.Units, PoolKind: kind, Blocks: []model.Block{{Address: at, Size: of.Units, RequestedSize: 1, State: state}}}
	}
	used, cached := segment(0, s.Small, spec.SmallPool, spec.ActiveAllocated), segment(4, s.Large, spec.LargePool, spec.Inactive)
	whole := s.Small.Bytes + s.Large.Bytes
	for _, c := range []struct {
		segments []model.Segment
		limit    uint64 // units
		request  uint64
		want     uint64 // bytes
	}{
		{nil, s.Small.Units, 1, s.Small.Bytes},
		{nil, s.Small.Units - 1, 1, s.Small.Bytes - 1},
		{nil, s.Large.Units, 3, s.Large.Bytes},
		{[]model.Segment{used, cached}, 2*s.Small.Units + s.Large.Units, 1, whole + s.Small.Bytes},
		{[]model.Segment{used, cached}, 2*s.Small.Units + s.Large.Units - 1, 1, 2 * s.Small.Bytes},
		{[]model.Segment{used, cached}, 2*s.Small.Units - 1, 1, 2*s.Small.Bytes - 1},
	} {
		from := &bounded.State{Segments: c.segments, Limited: true, Limit: c.limit, Memory: 100, Config: spec.Config{MaxSplitSize: spec.Unlimited}}
		from.Geometry.SmallSize = 2
		got, err := s.Limit(from, []trace.Op{{Kind: trace.OpBusy}, {Kind: trace.OpMalloc, Size: c.request}})
		if err != nil || len(got) != 1 || got[0].Fraction != s.setLimit(c.want).Fraction || got[0].Kind != trace.OpSetMemoryFraction {
			t.Errorf("%+v: %v, %v, want %v", c, got, err, s.setLimit(c.want).Fraction)
		}
	}
	from := &bounded.State{Segments: []model.Segment{segment(0, Size{Units: 99}, spec.LargePool, spec.ActiveAllocated)}}
	if _, err := s.Limit(from, []trace.Op{{Kind: trace.OpMalloc}}); err == nil || err.Error() != "the scale of faults_kinds has no segment of 99 units" {
		t.Error(err)
	}
	if got, err := s.Limit(from, []trace.Op{{Kind: trace.OpFree}}); got != nil || err != nil {
		t.Errorf("no malloc: %v, %v", got, err)
	}
	if got, err := Find("core_tiny").Limit(from, []trace.Op{{Kind: trace.OpMalloc}}); got != nil || err != nil {
		t.Errorf("no limit: %v, %v", got, err)
	}
	if f := s.setLimit(1 << 60).Fraction; f != 1 {
		t.Errorf("more than the device has: %v", f)
	}
}
