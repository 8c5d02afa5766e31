package fakegpu_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestMemoryAgainstModel drives memory and virtual memory at random, and compares
// every answer with a model that knows nothing but lists: it looks at all of them
// each time. The device is tiny, so that everything runs out and collides.
func TestMemoryAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &memoryModel{
			gpu: fakegpu.New(fakegpu.Config{
				Devices:         fakegpu.Devices(1, modelBytes),
				PageGranularity: modelPage,
				Addresses:       rapid.SampledFrom([]func(spec.Device) fakegpu.AddressPolicy{fakegpu.Ascending, fakegpu.RealLike}).Draw(t, "policy"),
			}),
			limit: modelBytes,
		}
		t.Repeat(map[string]func(*rapid.T){
			"":          m.check,
			"malloc":    m.malloc,
			"free":      m.free,
			"limit":     m.setFree,
			"reserve":   m.reserve,
			"unreserve": m.unreserve,
			"page":      m.createPage,
			"release":   m.releasePage,
			"map":       m.mapPage,
			"access":    m.setAccess,
			"unmap":     m.unmapPage,
		})
	})
}

const (
	modelBytes = 64
	modelPage  = 4
)

type memoryModel struct {
	gpu    *fakegpu.GPU
	limit  uint64
	pieces []spec.Range
	ranges []spec.Range
	pages  []modelPageState
	gone   []spec.Ptr // addresses that were something once
}

// modelPageState is physical memory of a page: free when there is no handle and it
// is mapped nowhere.
type modelPageState struct {
	handle spec.PageHandle
	held   bool
	bytes  uint64
	at     []modelMapping
}

type modelMapping struct {
	ptr    spec.Ptr
	access bool
}

// used adds up what is there.
func (m *memoryModel) used() (sum uint64) {
	for _, p := range m.pieces {
		sum += p.Bytes
	}
	for _, p := range m.pages {
		if p.held || len(p.at) > 0 {
			sum += p.bytes
		}
	}
	return sum
}

func (m *memoryModel) free0() uint64 { return m.limit - min(m.limit, m.used()) }

// expect compares an outcome with what the model says.
func expect(t *rapid.T, err error, legal bool, what string) {
	t.Helper()
	if legal != (err == nil) {
		t.Fatalf("%s: %v, the model says legal: %v", what, err, legal)
	}
}

// check compares all that can be seen.
func (m *memoryModel) check(t *rapid.T) {
	free, total, err := m.gpu.MemInfo(0)
	if err != nil || total != modelBytes || free != m.free0() {
		t.Fatalf("MemInfo: %d of %d free (%v), the model has %d used of %d", free, total, err, m.used(), m.limit)
	}
	held := 0
	for _, p := range m.pages {
		if p.held {
			held++
		}
		for _, at := range p.at {
			_, err := m.gpu.ReadBack(0, 0, spec.Range{Ptr: at.ptr, Bytes: p.bytes})
			expect(t, err, at.access, "ReadBack of a mapping")
		}
	}
	for _, p := range m.pieces {
		_, err := m.gpu.ReadBack(0, 0, p)
		expect(t, err, true, "ReadBack of a piece")
	}
	if leaks := m.gpu.Leaks(); len(leaks) != len(m.pieces)+len(m.ranges)+held {
		t.Fatalf("the model has %d pieces, %d ranges, %d pages: %q", len(m.pieces), len(m.ranges), held, leaks)
	}
	all := slices.Concat(m.pieces, m.ranges)
	for i, a := range all {
		for _, b := range all[:i] {
			if a.Overlaps(b) {
				t.Fatalf("%v and %v overlap", a, b)
			}
		}
	}
}

func (m *memoryModel) malloc(t *rapid.T) {
	bytes := rapid.Uint64Range(0, 24).Draw(t, "bytes")
	ptr, err := m.gpu.Malloc(0, bytes)
	expect(t, err, bytes > 0 && bytes <= m.free0(), "Malloc")
	if bytes > 0 && errors.Is(err, spec.ErrDriverOutOfMemory) != (err != nil) {
		t.Fatalf("Malloc fails without being out of memory: %v", err)
	}
	if err == nil {
		if ptr == 0 || ptr%512 != 0 {
			t.Fatalf("Malloc gave %v", ptr)
		}
		m.pieces = append(m.pieces, spec.Range{Ptr: ptr, Bytes: bytes})
	}
}

// somewhere is an address that is, was, or never was something.
func (m *memoryModel) somewhere(t *rapid.T) spec.Ptr {
	candidates := append([]spec.Ptr{0x1000}, m.gone...)
	for _, r := range slices.Concat(m.pieces, m.ranges) {
		candidates = append(candidates, r.Ptr)
	}
	offset := rapid.SampledFrom([]spec.Ptr{0, 0, 4, 8, 12, 16, 2}).Draw(t, "offset")
	return rapid.SampledFrom(candidates).Draw(t, "address") + offset
}

func (m *memoryModel) free(t *rapid.T) {
	ptr := m.somewhere(t)
	i := slices.IndexFunc(m.pieces, func(r spec.Range) bool { return r.Ptr == ptr })
	expect(t, m.gpu.Free(0, ptr), i >= 0, "Free")
	if i >= 0 {
		m.pieces = slices.Delete(m.pieces, i, i+1)
		m.gone = append(m.gone, ptr)
	}
}

func (m *memoryModel) setFree(t *rapid.T) {
	bytes := rapid.Uint64Range(0, 80).Draw(t, "free")
	m.gpu.SetFreeMemory(0, bytes)
	m.limit = min(m.used()+bytes, modelBytes)
}

func (m *memoryModel) reserve(t *rapid.T) {
	bytes := rapid.SampledFrom([]uint64{0, 3, 8, 16, 24}).Draw(t, "bytes")
	ptr, err := m.gpu.ReserveAddress(0, bytes)
	expect(t, err, bytes > 0 && bytes%modelPage == 0, "ReserveAddress")
	if err == nil {
		m.ranges = append(m.ranges, spec.Range{Ptr: ptr, Bytes: bytes})
	}
}

// mappedIn lists all mappings that have a byte in a range.
func (m *memoryModel) mappedIn(r spec.Range) (found []spec.Range) {
	for _, p := range m.pages {
		for _, at := range p.at {
			if s := (spec.Range{Ptr: at.ptr, Bytes: p.bytes}); s.Overlaps(r) {
				found = append(found, s)
			}
		}
	}
	return found
}

func (m *memoryModel) unreserve(t *rapid.T) {
	r := spec.Range{Ptr: m.somewhere(t), Bytes: rapid.SampledFrom([]uint64{8, 16, 24}).Draw(t, "bytes")}
	i := slices.Index(m.ranges, r)
	legal := i >= 0 && len(m.mappedIn(r)) == 0
	expect(t, m.gpu.FreeAddress(r.Ptr, r.Bytes), legal, "FreeAddress")
	if legal {
		m.ranges = slices.Delete(m.ranges, i, i+1)
		m.gone = append(m.gone, r.Ptr)
	}
}

func (m *memoryModel) createPage(t *rapid.T) {
	bytes := rapid.SampledFrom([]uint64{0, 4, 4, 8, 6}).Draw(t, "bytes")
	handle, err := m.gpu.CreatePage(0, bytes, spec.SharePOSIX)
	expect(t, err, bytes > 0 && bytes%modelPage == 0 && bytes <= m.free0(), "CreatePage")
	if err == nil {
		m.pages = append(m.pages, modelPageState{handle: handle, held: true, bytes: bytes})
	}
}

// anyPage draws a page, perhaps one whose handle is gone.
func (m *memoryModel) anyPage(t *rapid.T) *modelPageState {
	if len(m.pages) == 0 {
		return &modelPageState{handle: 12345}
	}
	return &m.pages[rapid.IntRange(0, len(m.pages)-1).Draw(t, "page")]
}

func (m *memoryModel) releasePage(t *rapid.T) {
	p := m.anyPage(t)
	expect(t, m.gpu.ReleasePage(p.handle), p.held, "ReleasePage")
	p.held = false
}

func (m *memoryModel) mapPage(t *rapid.T) {
	p := m.anyPage(t)
	r := spec.Range{Ptr: m.somewhere(t), Bytes: rapid.SampledFrom([]uint64{4, 8}).Draw(t, "bytes")}
	legal := p.held && r.Bytes == p.bytes && r.Ptr%modelPage == 0 && len(m.mappedIn(r)) == 0 &&
		slices.ContainsFunc(m.ranges, func(o spec.Range) bool { return o.Contains(r) })
	expect(t, m.gpu.MapPage(r.Ptr, r.Bytes, p.handle), legal, "MapPage")
	if legal {
		p.at = append(p.at, modelMapping{ptr: r.Ptr})
	}
}

func (m *memoryModel) setAccess(t *rapid.T) {
	r := spec.Range{Ptr: m.somewhere(t), Bytes: rapid.SampledFrom([]uint64{4, 8, 12, 16}).Draw(t, "bytes")}
	covered, inside := uint64(0), true
	for _, s := range m.mappedIn(r) {
		covered += s.Bytes
		inside = inside && r.Contains(s)
	}
	legal := inside && covered == r.Bytes &&
		slices.ContainsFunc(m.ranges, func(o spec.Range) bool { return o.Contains(r) })
	expect(t, m.gpu.SetAccess(r.Ptr, r.Bytes, 0), legal, "SetAccess")
	if !legal {
		return
	}
	for i := range m.pages {
		for j := range m.pages[i].at {
			if at := &m.pages[i].at[j]; r.Ptr <= at.ptr && at.ptr < r.End() {
				at.access = true
			}
		}
	}
}

func (m *memoryModel) unmapPage(t *rapid.T) {
	r := spec.Range{Ptr: m.somewhere(t), Bytes: rapid.SampledFrom([]uint64{4, 8}).Draw(t, "bytes")}
	var page *modelPageState
	at := -1
	for i := range m.pages {
		if j := slices.IndexFunc(m.pages[i].at, func(o modelMapping) bool { return o.ptr == r.Ptr }); j >= 0 && m.pages[i].bytes == r.Bytes {
			page, at = &m.pages[i], j
		}
	}
	expect(t, m.gpu.UnmapPage(r.Ptr, r.Bytes), page != nil, "UnmapPage")
	if page != nil {
		page.at = slices.Delete(page.at, at, at+1)
	}
}
