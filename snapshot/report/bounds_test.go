package report

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"

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

// crowd is a snapshot with so many segments of so many blocks, each with a call stack of
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
			m := data.moment("end")
			if m.Merged != test.merged || m.LeftOut != test.leftOut {
				t.Errorf("merged %v, %d left out", m.Merged, m.LeftOut)
			}
			checkMoment(t, m)
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

// TestPageOfLongHistory: nor does the size depend on the length of the history.
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
	if size > 200<<10 {
		t.Errorf("the page has %d bytes", size)
	}
}
