package fakegpu_test

import (
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/internal/checkout"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestScriptOnRecordings makes the driver requests that recorded runs made, in
// their order and without any allocator, and expects that each is granted at its
// recorded address. Where the recording has them, the free bytes that the driver
// told after a refusal must be right as well.
func TestScriptOnRecordings(t *testing.T) {
	files, err := checkout.AllTraces()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) { requestAgain(t, files[name]) })
	}
}

// pageBytes divides every mapping that was recorded.
const pageBytes = 2 * spec.MiB

// requester makes recorded driver requests.
type requester struct {
	t      *testing.T
	gpu    *fakegpu.GPU
	script *fakegpu.Script
	real   bool // the recorded driver's refusals count
	total  uint64
	ranges map[spec.Ptr]int             // pages mapped in a range
	pages  map[spec.Ptr]spec.PageHandle // by address
}

func requestAgain(t *testing.T, file string) {
	tr, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	h := tr.Header()
	r := &requester{
		t: t, script: fakegpu.NewScript(), real: h.Exclusive, total: h.TotalMemory,
		gpu:    fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, h.TotalMemory)}),
		ranges: map[spec.Ptr]int{}, pages: map[spec.Ptr]spec.PageHandle{},
	}
	r.gpu.UseScript(0, r.script)
	for {
		op, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		r.operation(op)
	}
}

func (r *requester) operation(op *trace.Op) {
	if op.Kind == trace.OpDeviceFree {
		r.gpu.SetFreeMemory(0, op.Size)
	}
	if r.real {
		r.script.LoadOutcomes(op.Expect.Entries)
		if _, err := r.gpu.Malloc(0, 512); !errors.Is(err, spec.ErrDriverOutOfMemory) {
			r.t.Fatalf("line %d: a request that was not recorded: %v", op.Line, err)
		}
	} else {
		r.script.Load(op.Expect.Entries)
	}
	for _, e := range op.Expect.Entries {
		if err := r.entry(e); err != nil {
			r.t.Fatalf("line %d: %v of %d bytes at %v: %v", op.Line, e.Action, e.Size, e.Addr, err)
		}
	}
}

var errElsewhere = errors.New("the driver chose another address")

func (r *requester) entry(e spec.TraceEntry) error {
	switch e.Action {
	case spec.ActionSegmentAlloc:
		p, err := r.gpu.Malloc(0, e.Size)
		if err == nil && p != e.Addr {
			err = errElsewhere
		}
		return err
	case spec.ActionSegmentFree:
		return r.gpu.Free(0, e.Addr)
	case spec.ActionSegmentMap:
		return r.mapPages(e)
	case spec.ActionSegmentUnmap:
		return r.unmapPages(e)
	case spec.ActionOOM:
		if free, _, err := r.gpu.MemInfo(0); r.real && free != uint64(e.Addr) {
			r.t.Errorf("%d bytes are free (%v), recorded are %d", free, err, uint64(e.Addr))
		}
	}
	return nil
}

// rangeBytes is what the recorded allocator reserved, or somewhat less.
func (r *requester) rangeBytes() uint64 { return (r.total + r.total/8) / pageBytes * pageBytes }

// rangeOf finds the range of an address, or reserves it.
func (r *requester) rangeOf(ptr spec.Ptr) (spec.Ptr, error) {
	for base := range r.ranges {
		if base <= ptr && ptr < base+spec.Ptr(r.rangeBytes()) {
			return base, nil
		}
	}
	base, err := r.gpu.ReserveAddress(0, r.rangeBytes())
	if err == nil && base != ptr {
		err = errElsewhere
	}
	r.ranges[base] = 0
	return base, err
}

func (r *requester) mapPages(e spec.TraceEntry) error {
	base, err := r.rangeOf(e.Addr)
	if err != nil {
		return err
	}
	for at := e.Addr; at < e.Addr+spec.Ptr(e.Size); at += spec.Ptr(pageBytes) {
		if r.pages[at], err = r.gpu.CreatePage(0, pageBytes, spec.SharePOSIX); err != nil {
			return err
		}
	}
	for at := e.Addr; at < e.Addr+spec.Ptr(e.Size); at += spec.Ptr(pageBytes) {
		if err := r.gpu.MapPage(at, pageBytes, r.pages[at]); err != nil {
			return err
		}
		r.ranges[base]++
	}
	return r.gpu.SetAccess(e.Addr, e.Size, 0)
}

func (r *requester) unmapPages(e spec.TraceEntry) error {
	base, err := r.rangeOf(e.Addr)
	if err != nil {
		return err
	}
	for at := e.Addr; at < e.Addr+spec.Ptr(e.Size); at += spec.Ptr(pageBytes) {
		if err := errors.Join(r.gpu.UnmapPage(at, pageBytes), r.gpu.ReleasePage(r.pages[at])); err != nil {
			return err
		}
		r.ranges[base]--
	}
	if r.ranges[base] > 0 {
		return nil
	}
	delete(r.ranges, base)
	return r.gpu.FreeAddress(base, r.rangeBytes())
}
