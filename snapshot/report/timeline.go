package report

import "gaugeblock/spec"

// A history of a million entries has a thousand times more entries than a page has
// pixels. It is divided into buckets of equally many entries. A bucket has the minimum
// and the maximum of its entries, so a peak of a single entry is drawn at its height.

// maxBuckets is the maximum number of buckets.
const maxBuckets = 2000

// Timeline is the allocated and the reserved memory over the history. Each list has an
// element for each bucket.
type Timeline struct {
	EntriesPerBucket int      `json:"entriesPerBucket"` // the last bucket may have fewer
	TimesUS          []int64  `json:"timesUS"`          // of the first entry; empty: not known
	AllocatedMin     []uint64 `json:"allocatedMin"`
	AllocatedMax     []uint64 `json:"allocatedMax"`
	ReservedMin      []uint64 `json:"reservedMin"`
	ReservedMax      []uint64 `json:"reservedMax"`
	OOMs             []int    `json:"ooms"`
	SegmentsFreed    []uint64 `json:"segmentsFreed"` // bytes

	highest []int // the entry with AllocatedMax
}

// newTimeline begins a timeline of a number of entries, in a bounded number of buckets.
func newTimeline(entries, buckets int) Timeline {
	return Timeline{
		EntriesPerBucket: entriesPerBucket(entries, buckets), TimesUS: []int64{},
		AllocatedMin: []uint64{}, AllocatedMax: []uint64{}, ReservedMin: []uint64{}, ReservedMax: []uint64{}, OOMs: []int{}, SegmentsFreed: []uint64{},
	}
}

// entriesPerBucket divides entries into at most so many buckets.
func entriesPerBucket(entries, buckets int) int { return max(1, (entries+buckets-1)/max(1, buckets)) }

// add adds the state after an entry. Entries are counted from 0 and are added in order.
func (t *Timeline) add(entry int, timeUS int64, s *allocatorState) {
	if entry%t.EntriesPerBucket == 0 {
		t.TimesUS = append(t.TimesUS, timeUS)
		t.AllocatedMin = append(t.AllocatedMin, s.allocatedBytes)
		t.AllocatedMax = append(t.AllocatedMax, s.allocatedBytes)
		t.ReservedMin = append(t.ReservedMin, s.reservedBytes)
		t.ReservedMax = append(t.ReservedMax, s.reservedBytes)
		t.OOMs = append(t.OOMs, 0)
		t.SegmentsFreed = append(t.SegmentsFreed, 0)
		t.highest = append(t.highest, entry)
	}
	last := len(t.AllocatedMax) - 1
	if s.allocatedBytes > t.AllocatedMax[last] {
		t.highest[last] = entry
	}
	t.AllocatedMin[last] = min(t.AllocatedMin[last], s.allocatedBytes)
	t.AllocatedMax[last] = max(t.AllocatedMax[last], s.allocatedBytes)
	t.ReservedMin[last] = min(t.ReservedMin[last], s.reservedBytes)
	t.ReservedMax[last] = max(t.ReservedMax[last], s.reservedBytes)
}

// count counts an entry to the last bucket.
func (t *Timeline) count(e *spec.TraceEntry) {
	last := len(t.OOMs) - 1
	switch e.Action {
	case spec.ActionOOM:
		t.OOMs[last]++
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		t.SegmentsFreed[last] += e.Size
	}
}
