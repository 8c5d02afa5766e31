package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// counter counts bytes.
type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// TestTimelineKeepsExtremes: for every length of the history a timeline is short, every
// value is within its bucket's minimum and maximum, and these two are values of the bucket.
func TestTimelineKeepsExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(maxBuckets-2, maxBuckets+2), rapid.IntRange(0, 20*maxBuckets)).Draw(t, "entries")
		step := rapid.Uint64Range(1, 1000).Draw(t, "step")
		values := make([]uint64, n)
		c := newTimeline(n, maxBuckets)
		for i := range values {
			values[i] = uint64(i+1) * step % 997
			c.add(i, int64(i), &allocatorState{allocatedBytes: values[i], reservedBytes: values[i] + 1})
		}
		if len(c.AllocatedMax) > maxBuckets {
			t.Fatalf("%d buckets for %d entries", len(c.AllocatedMax), n)
		}
		for i := range c.AllocatedMax {
			of := values[i*c.EntriesPerBucket : min((i+1)*c.EntriesPerBucket, n)]
			low, high := slices.Min(of), slices.Max(of)
			if c.AllocatedMin[i] != low || c.AllocatedMax[i] != high || c.ReservedMin[i] != low+1 || c.ReservedMax[i] != high+1 {
				t.Fatalf("bucket %d: %d to %d, want %d to %d", i, c.AllocatedMin[i], c.AllocatedMax[i], low, high)
			}
			if c.TimesUS[i] != int64(i*c.EntriesPerBucket) {
				t.Fatalf("bucket %d begins at %d", i, c.TimesUS[i])
			}
		}
	})
}

// crowd is a snapshot with many segments of many blocks, each with a call stack of
// its own place.
func crowd(segments, blocks int) *snapshot.File {
	f := &snapshot.File{}
	at := spec.Ptr(1 << 40)
	for i := range segments {
		s := spec.Segment{Address: at, TotalSize: uint64(blocks) * 512}
		for j := range blocks {
			b := spec.Block{Address: at, Size: 512, RequestedSize: 500, State: spec.BlockState(j % 3)}
			b.Context = snapshot.Frames{{Filename: fmt.Sprint("file", i%50, ".py"), Line: j % 200, Name: "function"}}
			s.Blocks = append(s.Blocks, b)
			at += 512
		}
		f.Segments = append(f.Segments, s)
		at += 512
	}
	return f
}

// TestPageIsSmall: a page is below 2 MiB for every snapshot, and says what it leaves out.
func TestPageIsSmall(t *testing.T) {
	for _, test := range []struct {
		segments, blocks int
		merged           bool
		leftOut          int
	}{
		{segments: 10, blocks: 100},
		{segments: 1, blocks: 200_000, merged: true},
		{segments: 400, blocks: 250, merged: true},
		{segments: 20_000, blocks: 4, merged: true, leftOut: 16_000},
	} {
		t.Run(fmt.Sprintf("%d segments of %d blocks", test.segments, test.blocks), func(t *testing.T) {
			data := build(t, crowd(test.segments, test.blocks))
			m := data.layout("end")
			if m.Merged != test.merged || m.LeftOut != test.leftOut {
				t.Errorf("merged %v, %d left out", m.Merged, m.LeftOut)
			}
			checkLayout(t, m)
			shown := 0
			for _, s := range m.Segments {
				for _, b := range s.Blocks {
					if len(b) > countIndex {
						shown += int(b[countIndex])
					} else {
						shown++
					}
				}
			}
			if want := (test.segments - test.leftOut) * test.blocks; shown != want {
				t.Errorf("%d blocks are shown, want %d", shown, want)
			}
			var size counter
			if err := Write(&size, pageOf(data)); err != nil {
				t.Fatal(err)
			}
			if size > 2<<20 {
				t.Errorf("the page has %d bytes", size)
			}
			t.Logf("%d bytes", size)
		})
	}
}

// TestPageOfLongHistory: nor does the size depend on the length of the history. Up to 4,000
// allocations are on the page, and the states of the last entries.
func TestPageOfLongHistory(t *testing.T) {
	f := &snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{nil}}
	none := &snapshot.Context{}
	add := func(action spec.Action, addr spec.Ptr, size uint64) {
		f.DeviceTraces[0] = append(f.DeviceTraces[0], snapshot.TraceEntry{
			TraceEntry: spec.TraceEntry{Action: action, Addr: addr, Size: size}, TimeUS: int64(1 + len(f.DeviceTraces[0])), Context: none,
		})
	}
	add(spec.ActionSegmentAlloc, 1<<40, 20<<20)
	for i := range 100_000 {
		size := uint64(1<<20 + i%1000*512)
		add(spec.ActionAlloc, 1<<40, size)
		add(spec.ActionFreeRequested, 1<<40, size)
		add(spec.ActionFreeCompleted, 1<<40, size)
	}
	f.Segments = []spec.Segment{{Address: 1 << 40, TotalSize: 20 << 20, PoolKind: spec.LargePool, Blocks: []spec.Block{{Address: 1 << 40, Size: 20 << 20}}}}
	var size counter
	if err := Write(io.Writer(&size), pageOf(build(t, f))); err != nil {
		t.Fatal(err)
	}
	if size > 960<<10 {
		t.Errorf("the page has %d bytes", size)
	}
}

// sizeOf is the size of a page.
func sizeOf(t *testing.T, p *Page) int {
	t.Helper()
	var size counter
	if err := Write(&size, p); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", size)
	return int(size)
}

// TestPageOfDeepStacks: 400 call stacks of 60 frames, no two of them equal, with long names,
// and more of them. Every block still has its own line.
func TestPageOfDeepStacks(t *testing.T) {
	for _, stacks := range []int{400, 1500} {
		t.Run(fmt.Sprint(stacks), func(t *testing.T) { deepStacks(t, stacks) })
	}
}

func deepStacks(t *testing.T, stacks int) {
	f := &snapshot.File{}
	s := spec.Segment{Address: 1 << 40}
	for i := range stacks {
		var stack snapshot.Frames
		for j := range 60 {
			name := fmt.Sprintf("%s %d %d", strings.Repeat("x", 180), i, j)
			stack = append(stack, &snapshot.Frame{Filename: "/lib/site-packages/" + name, Line: j, Name: name})
		}
		stack[50].Filename = fmt.Sprint("own", i, ".py")
		s.Blocks = append(s.Blocks, spec.Block{Address: s.Address + spec.Ptr(s.TotalSize), Size: 512, RequestedSize: 512, State: spec.ActiveAllocated, Context: stack})
		s.TotalSize += 512
	}
	f.Segments = []spec.Segment{s}
	data := build(t, f)
	if size := sizeOf(t, pageOf(data)); size > 2<<20 {
		t.Errorf("the page has %d bytes", size)
	}
	if data.Stacks.LeftOut == 0 {
		t.Error("the page does not say that stacks are shortened")
	}
	for i, b := range data.layout("end").Segments[0].Blocks {
		own := data.Stacks.Frames[data.Stacks.Own[b[3]]].Filename
		if want := fmt.Sprint("own", i, ".py"); own != want {
			t.Errorf("block %d: the own frame is in %q, want %q", i, own, want)
		}
	}
}

// TestPageOfLongName: names of 5 MB, wherever a file has names.
func TestPageOfLongName(t *testing.T) {
	long := strings.Repeat("name\x1b<", 5<<20/6)
	f := open(t, "testdata/small.json")
	for i := range f.Segments[0].Blocks {
		f.Segments[0].Blocks[i].Context = snapshot.Frames{{Filename: long, Name: long}}
	}
	f.AllocatorSettings.Conf = long
	f.ExternalAnnotations = append(f.ExternalAnnotations,
		spec.Annotation{TimeNS: 1000500_000, Fields: []spec.AnnotationField{{Key: "name", Value: long}, {Key: "stage", Value: "START"}}},
		spec.Annotation{TimeNS: 1001500_000, Fields: []spec.AnnotationField{{Key: "name", Value: long}, {Key: "stage", Value: "END"}}})
	d, err := Build(f, Options{Title: long, Notes: []string{long}})
	if err != nil {
		t.Fatal(err)
	}
	r := &RankBuilder{}
	r.Add(long, d)
	r.Add(long, d)
	page := &Page{Source: long, Reports: []*Data{d, d}, Compared: Compare(d, d), Ranks: r.Ranks(nil, nil), Notes: []string{long}}
	if size := sizeOf(t, page); size > 300<<10 {
		t.Errorf("the page has %d bytes", size)
	}
}

// TestPageOfManyReports: the reports of 16 devices share the page.
func TestPageOfManyReports(t *testing.T) {
	page := &Page{}
	for dev := range maxDevices {
		f := crowd(2_000, 20)
		for i := range f.Segments {
			for j := range f.Segments[i].Blocks {
				frames := f.Segments[i].Blocks[j].Context.(snapshot.Frames)
				frames[0].Name = fmt.Sprint(strings.Repeat("f", 100), i, j)
			}
		}
		d, err := Build(f, Options{Title: fmt.Sprint("device ", dev), Share: maxDevices})
		if err != nil {
			t.Fatal(err)
		}
		page.Reports = append(page.Reports, d)
	}
	if size := sizeOf(t, page); size > 3<<20 {
		t.Errorf("the page has %d bytes", size)
	}
}

// TestManyStacks: stacks of more frames than there are characters of a text are all told apart.
func TestManyStacks(t *testing.T) {
	s := newStacks(1)
	keys := map[string]bool{}
	for i := range 200_000 {
		keys[s.keyOf(snapshot.Frames{{Filename: "a.py", Line: i, Name: "f"}}, 0)] = true
	}
	if len(keys) != 200_000 {
		t.Errorf("%d keys", len(keys))
	}
	seen := map[int]bool{}
	for range 2 {
		for i := range 7_600 {
			seen[s.add(snapshot.Frames{{Filename: "a.py", Line: i, Name: "f"}})] = true
		}
	}
	if len(seen) != 7_600 || seen[noStack] {
		t.Errorf("%d stacks", len(seen))
	}
}

// TestManyFrames: each of 7,600 blocks with as many call stacks, of 60,800 frames, is counted
// to its own line.
func TestManyFrames(t *testing.T) {
	const blocks, frames = 7600, 8
	s := spec.Segment{Address: 1 << 40, TotalSize: blocks * 512}
	for i := range blocks {
		var stack snapshot.Frames
		for j := range frames {
			stack = append(stack, &snapshot.Frame{Filename: fmt.Sprint("f", i%50, ".py"), Line: frames*i + j, Name: fmt.Sprint("fn", frames*i+j)})
		}
		s.Blocks = append(s.Blocks, spec.Block{Address: s.Address + spec.Ptr(512*i), Size: 512, RequestedSize: 500, State: spec.ActiveAllocated, Context: stack})
	}
	data := build(t, &snapshot.File{Segments: []spec.Segment{s}})
	if len(data.Stacks.Stacks) != blocks || len(data.Sites)+data.MoreSites != blocks {
		t.Errorf("%d stacks, %d sites, want %d", len(data.Stacks.Stacks), len(data.Sites)+data.MoreSites, blocks)
	}
	for i, b := range data.layout("end").Segments[0].Blocks {
		if own := data.Stacks.Frames[data.Stacks.Own[b[3]]]; own.Line != frames*i {
			t.Fatalf("block %d is of line %d, want %d", i, own.Line, frames*i)
		}
	}
	if size := sizeOf(t, pageOf(data)); size > 2<<20 {
		t.Errorf("the page has %d bytes", size)
	}
}

// TestPageOfManyRanks: ranks with long names, more of them than are listed.
func TestPageOfManyRanks(t *testing.T) {
	d := build(t, crowd(40, 50))
	r := &RankBuilder{}
	for i := range 1200 {
		r.Add(fmt.Sprintf("%s/rank%d.pickle", strings.Repeat("<", 1000), i), d)
	}
	page := &Page{Source: "ranks", Reports: []*Data{d}, Ranks: r.Ranks(nil, nil)}
	if len(page.Ranks.List)+page.Ranks.More != 1200 || page.Ranks.More == 0 {
		t.Errorf("%d ranks are listed, %d more", len(page.Ranks.List), page.Ranks.More)
	}
	if worst := page.Ranks.List[page.Ranks.Worst].Number; worst != 0 {
		t.Errorf("rank %d of equal ones is the worst", worst)
	}
	if size := sizeOf(t, page); size > 3<<20 {
		t.Errorf("the page has %d bytes", size)
	}
}

// TestSmallBlocksAreMerged: blocks beside each other that are too small to be told apart are drawn
// as one.
func TestSmallBlocksAreMerged(t *testing.T) {
	b := &builder{data: &Data{}}
	var s Segment
	for _, block := range []spec.Block{
		{Size: 99, RequestedSize: 90, State: spec.ActiveAllocated}, {Size: 40, State: spec.Inactive}, {Size: 50, RequestedSize: 50, State: spec.ActivePendingFree},
		{Size: 100, State: spec.Inactive},
		{Size: 98, RequestedSize: 97, State: spec.ActiveAllocated},
		{Size: 100, RequestedSize: 95, State: spec.ActiveAllocated},
		{Size: 30, State: spec.Inactive}, {Size: 31, RequestedSize: 3, State: spec.ActiveAllocated},
	} {
		b.addBlock(&s, &layoutBlock{block, 7}, 100)
	}
	want := []Block{
		{189, 140, max(int64(spec.ActivePendingFree), int64(spec.ActiveAllocated)), noStack, -1, 3},
		{100},
		{98, 97, int64(spec.ActiveAllocated), noStack, -1, 1},
		{100, 95, int64(spec.ActiveAllocated), noStack, 7},
		{61, 3, int64(spec.ActiveAllocated), noStack, -1, 2},
	}
	if diff := cmp.Diff(want, s.Blocks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
