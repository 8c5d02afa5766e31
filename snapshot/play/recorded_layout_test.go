package play

import (
	"errors"
	"fmt"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// TestMapped: the blocks of a segment are made in their order; free memory that is no block of a large pool by itself
// is made with the block before it, and freed later.
func TestMapped(t *testing.T) {
	const mib, kib = spec.MiB, spec.KiB
	active := func(bytes uint64) spec.Block { return spec.Block{Size: bytes, State: spec.ActiveAllocated} }
	free := func(bytes uint64) spec.Block { return spec.Block{Size: bytes, State: spec.Inactive} }
	for what, test := range map[string]struct {
		pool     spec.PoolKind
		blocks   []spec.Block
		made     string
		inactive int
		padded   []uint64 // the requests of padded blocks
	}{
		"only active ones":              {spec.LargePool, []spec.Block{active(4 * mib), active(2 * mib)}, "4194304 2097152 ", 0, nil},
		"free ones":                     {spec.LargePool, []spec.Block{free(2 * mib), active(4 * mib), free(4 * mib)}, "2097152 4194304 4194304 ", 2, nil},
		"a small end":                   {spec.LargePool, []spec.Block{active(4 * mib), free(mib), active(2 * mib)}, "5242880 2097152 ", 0, []uint64{4 * mib}},
		"an end that is a block":        {spec.LargePool, []spec.Block{active(4 * mib), free(mib + 512), active(2 * mib)}, "4194304 1049088 2097152 ", 1, nil},
		"a small one in front":          {spec.LargePool, []spec.Block{free(mib), active(4 * mib)}, "1048576 4194304 ", 1, nil},
		"a small end of the last block": {spec.LargePool, []spec.Block{active(2 * mib), active(4 * mib), free(512 * kib)}, "2097152 4718592 ", 0, []uint64{4 * mib}},
		"of a small pool":               {spec.SmallPool, []spec.Block{active(512), free(512), active(512)}, "512 512 512 ", 1, nil},
	} {
		w := &history.Workload{InitialSegments: []spec.Segment{{}, {PoolKind: test.pool, Stream: 3, Blocks: test.blocks}}}
		m := &layoutMaker{runner: &runner{Workload: w, ptrs: make([]spec.Ptr, 9)}, ids: []int{0, 5}}
		made, next := "", spec.Ptr(100)
		err := m.mapped(1, func(s *spec.Segment, b spec.Block) ([]spec.Ptr, error) {
			made += fmt.Sprint(b.Size, " ")
			next++
			return []spec.Ptr{next}, nil
		})
		if err != nil || made != test.made || len(m.inactive) != test.inactive || len(m.padded) != len(test.padded) {
			t.Errorf("%s: made %s, %d free, %+v, %v", what, made, len(m.inactive), m.padded, err)
			continue
		}
		for i, p := range m.padded {
			if p.request != (spec.Request{Stream: 3, Bytes: test.padded[i]}) || m.ptrs[p.id] == 0 {
				t.Errorf("%s: %+v", what, p)
			}
		}
		id := 5
		for _, b := range test.blocks {
			if b.State != spec.Inactive {
				if m.ptrs[id] == 0 {
					t.Errorf("%s: the allocation %d has no address: %v", what, id, m.ptrs)
				}
				id++
			}
		}
		if m.ptrs[id] != 0 || m.ptrs[4] != 0 {
			t.Errorf("%s: %v", what, m.ptrs)
		}
	}
	wrong := errors.New("wrong")
	for _, b := range []spec.Block{active(512), free(512)} {
		m := &layoutMaker{runner: &runner{Workload: &history.Workload{InitialSegments: []spec.Segment{{Blocks: []spec.Block{b}}}}, ptrs: make([]spec.Ptr, 1)}, ids: []int{0}}
		if err := m.mapped(0, func(*spec.Segment, spec.Block) ([]spec.Ptr, error) { return nil, wrong }); err != wrong {
			t.Error(err)
		}
	}
}

// TestFreeOf: the last free of an address before a request.
func TestFreeOf(t *testing.T) {
	w := &history.Workload{}
	for i, q := range []struct {
		kind history.RequestKind
		addr spec.Ptr
	}{{history.Free, 1}, {history.Malloc, 2}, {history.Free, 2}, {history.Free, 1}, {history.Malloc, 1}} {
		w.Requests = append(w.Requests, history.Request{Kind: q.kind, Entry: int32(i)})
		w.Trace = append(w.Trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Addr: q.addr}})
	}
	for _, test := range []struct {
		addr         spec.Ptr
		before, want int32
	}{{1, 5, 3}, {1, 4, 3}, {1, 3, 0}, {1, 1, 0}, {1, 0, -1}, {2, 5, 2}, {2, 2, -1}, {3, 5, -1}} {
		if got := freeOf(w, test.addr, test.before); got != test.want {
			t.Errorf("of %d before %d: %d, not %d", test.addr, test.before, got, test.want)
		}
	}
}

// A block of no bytes, which a damaged snapshot can have, is an error with its address.
func TestBlockWithoutBytes(t *testing.T) {
	for _, state := range []spec.BlockState{spec.ActiveAllocated, spec.Inactive} {
		w := &history.Workload{InitialSegments: []spec.Segment{{PoolKind: spec.SmallPool, Blocks: []spec.Block{{Address: 0x1000, State: state}}}}}
		m := &layoutMaker{runner: &runner{Workload: w, ptrs: make([]spec.Ptr, 1)}, ids: []int{0}}
		if err := m.fixed(0); err == nil || err.Error() != "the block at 0x1000 has no bytes" {
			t.Errorf("%v: %v", state, err)
		}
	}
}
