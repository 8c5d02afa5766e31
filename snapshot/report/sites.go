package report

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"gaugeblock/snapshot"
)

// Who holds the memory. Allocated blocks are counted by call site: the innermost frame
// outside of libraries, with the guess what the memory is for. Blocks without a call stack
// are counted by size instead.

// The limits of what a page shows of call sites.
const (
	maxSeries    = 20 // with their memory over time
	maxCallSites = 60
)

// Site is a call site, and the allocated memory that it holds.
type Site struct {
	Stack    int    `json:"stack"`    // of its largest allocation; -1: there is none
	Size     uint64 `json:"size"`     // without a call stack: of the requests, from this power of two to twice as much
	Start    bool   `json:"start"`    // without a call stack: allocated before the history
	Category int    `json:"category"` // index into Data.Categories

	Allocations int     `json:"allocations"` // in the history
	Total       uint64  `json:"total"`       // bytes of these
	Max         uint64  `json:"max"`         // bytes at one time
	Peak        Holding `json:"peak"`        // at the peak of allocated memory
	OOM         Holding `json:"oom"`         // at the first out of memory
	End         Holding `json:"end"`

	// Deltas is what is held over time: for each bucket of the timeline the change since
	// the one before. Only the sites with the most have it.
	Deltas []int64 `json:"deltas,omitempty"`
}

// Line is the program's line of a site, or what is known instead of it.
func (d *Data) Line(s *Site) string {
	if s.Stack == noStack {
		return "without a call stack"
	}
	f := d.Stacks.Frames[d.Stacks.Own[s.Stack]]
	return fmt.Sprintf("%s:%d", f.Filename, f.Line)
}

// Holding is [bytes, blocks].
type Holding [2]uint64

// Category is a guess what memory is for.
type Category struct {
	Name   string  `json:"name"`
	Reason string  `json:"reason"`
	Peak   Holding `json:"peak"`
	OOM    Holding `json:"oom"`
	End    Holding `json:"end"`
	Max    uint64  `json:"max"`
	Deltas []int64 `json:"deltas,omitempty"`
}

// Label is a text of torch.cuda.memory._set_memory_metadata, and what was allocated under it.
type Label struct {
	Text        string  `json:"text"`
	Allocations int     `json:"allocations"`
	Max         uint64  `json:"max"` // bytes at one time
	Peak        Holding `json:"peak"`
	OOM         Holding `json:"oom"`
	End         Holding `json:"end"`
}

// siteKey is equal for blocks of the same site.
type siteKey struct {
	frame    snapshot.Frame // zero without a call stack
	size     uint64         // without a call stack
	start    bool
	category category
}

// siteTotals are the sums of a site.
type siteTotals struct {
	siteKey
	holder
	frames  snapshot.Frames // of the largest block
	largest uint64
	series  []uint64 // by bucket
}

// holder is what holds allocated memory.
type holder struct {
	allocations    int
	total          uint64 // bytes of these
	now            Holding
	max            uint64
	peak, oom, end Holding
}

func (h *holder) hold(bytes uint64) {
	h.now[0] += bytes
	h.now[1]++
	h.max = max(h.max, h.now[0])
}

func (h *holder) release(bytes uint64) {
	h.now[0] -= bytes
	h.now[1]--
}

// label is what holds memory under one text of torch.cuda.memory._set_memory_metadata.
type label struct {
	holder
	text string
}

// contextKey finds the site of an entry without comparing its frames.
type contextKey struct {
	context  *snapshot.Context
	category category
}

// siteTable has all sites. A nil table counts nothing.
type siteTable struct {
	history    bool       // there is one, so what was allocated before has another origin
	categories []category // by entry; nil: none is known
	list       []siteTotals
	at         map[siteKey]int32
	atContext  map[contextKey]int32
	now        []uint64 // bytes that are allocated, by category
	what       *categories
	labels     []*label // in order of their first allocation
	labelAt    map[string]*label
}

func newSiteTable(trace []snapshot.TraceEntry, patterns ...Pattern) *siteTable {
	what := newCategories(patterns)
	return &siteTable{history: len(trace) > 0, categories: what.ofEntries(trace), what: what, now: make([]uint64, len(what.texts)), at: map[siteKey]int32{}, atContext: map[contextKey]int32{}, labelAt: map[string]*label{}}
}

// of is the site of an alloc entry.
func (t *siteTable) of(entry int, e *snapshot.TraceEntry) int32 {
	if t == nil {
		return -1
	}
	what := uncategorized
	if t.categories != nil {
		what = t.categories[entry]
	}
	if len(e.Context.Frames) == 0 {
		return t.add(siteKey{size: binOf(e.Size), category: what}, nil, e.Size)
	}
	key := contextKey{e.Context, what}
	at, known := t.atContext[key]
	if !known {
		frame, _ := e.Context.Frames.ProgramFrame()
		at = t.add(siteKey{frame: frame, category: what}, e.Context.Frames, e.Size)
		t.atContext[key] = at
	}
	if s := &t.list[at]; e.Size > s.largest {
		s.largest, s.frames = e.Size, e.Context.Frames
	}
	return at
}

// ofStart is the site of a block that was allocated before the history, or of any block if
// there is none.
func (t *siteTable) ofStart(frames snapshot.Frames, requested uint64) int32 {
	if t == nil {
		return -1
	}
	switch {
	case len(frames) == 0 && t.history:
		return t.add(siteKey{start: true}, nil, requested)
	case len(frames) == 0:
		return t.add(siteKey{size: binOf(requested)}, nil, requested)
	}
	frame, _ := frames.ProgramFrame()
	return t.add(siteKey{frame: frame, category: t.what.ofStart(frames)}, frames, requested)
}

func (t *siteTable) add(key siteKey, frames snapshot.Frames, size uint64) int32 {
	at, known := t.at[key]
	if !known {
		at = int32(len(t.list))
		t.at[key] = at
		t.list = append(t.list, siteTotals{siteKey: key, frames: frames, largest: size})
	}
	return at
}

// binOf is the power of two of a size, as in Data.Sizes.
func binOf(bytes uint64) uint64 {
	if bytes <= smallestBin {
		return smallestBin
	}
	return 1 << (bits.Len64(bytes) - 1)
}

// hold counts a block that is allocated.
func (t *siteTable) hold(b *activeBlock) {
	if t == nil {
		return
	}
	s := &t.list[b.site]
	t.now[s.category] += b.size
	s.hold(b.size)
	if l := t.labelOf(b); l != nil {
		l.hold(b.size)
	}
}

// allocate counts a block that is allocated in the history.
func (t *siteTable) allocate(b *activeBlock) {
	if t == nil {
		return
	}
	t.hold(b)
	t.list[b.site].allocations++
	t.list[b.site].total += b.size
	if l := t.labelOf(b); l != nil {
		l.allocations++
		l.total += b.size
	}
}

func (t *siteTable) release(b *activeBlock) {
	if t == nil {
		return
	}
	s := &t.list[b.site]
	t.now[s.category] -= b.size
	s.release(b.size)
	if l := t.labelOf(b); l != nil {
		l.release(b.size)
	}
}

// labelOf is the label of a block; nil if it has none.
func (t *siteTable) labelOf(b *activeBlock) *label {
	text := b.context.UserMetadata
	if text == "" {
		return nil
	}
	l := t.labelAt[text]
	if l == nil {
		l = &label{text: text}
		t.labelAt[text] = l
		t.labels = append(t.labels, l)
	}
	return l
}

// holders are the sites and the labels.
func (t *siteTable) holders(yield func(*holder) bool) {
	for i := range t.list {
		if !yield(&t.list[i].holder) {
			return
		}
	}
	for _, l := range t.labels {
		if !yield(&l.holder) {
			return
		}
	}
}

// forget starts again with nothing allocated; the maxima stay.
func (t *siteTable) forget() {
	clear(t.now)
	for h := range t.holders {
		h.now, h.allocations, h.total = Holding{}, 0, 0
	}
}

// remember keeps what is held now.
func (t *siteTable) remember(where func(*holder) *Holding) {
	for h := range t.holders {
		*where(h) = h.now
	}
}

// mostHeld lists the sites that hold the most at one time, at most n.
func (t *siteTable) mostHeld(n int) []int32 {
	list := make([]int32, len(t.list))
	for i := range list {
		list[i] = int32(i)
	}
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(t.list[b].max, t.list[a].max) })
	return list[:min(n, len(list))]
}

// weight is what puts a site into the list of the page.
func (s *siteTotals) weight() uint64 { return max(s.peak[0], s.oom[0], s.end[0], s.max) }

// writeSites puts the sites and categories into the data.
func (b *builder) writeSites() {
	t := b.sites
	t.remember(func(h *holder) *Holding { return &h.end })
	order := t.mostHeld(len(t.list))
	b.data.Sites = []Site{}
	for i, at := range order {
		s := &t.list[at]
		if i >= b.limits.callSites || s.weight() == 0 {
			b.data.MoreSites = len(order) - i
			break
		}
		b.data.Sites = append(b.data.Sites, Site{
			Stack: b.data.Stacks.add(s.frames), Size: s.size, Start: s.start, Category: int(s.category),
			Allocations: s.allocations, Total: s.total, Max: s.max, Peak: s.peak, OOM: s.oom, End: s.end, Deltas: deltas(s.series),
		})
	}
	b.writeLabels()
	b.data.Categories, b.data.OwnCategories, b.data.categoryTexts = []Category{}, t.what.own(), t.what.texts
	if t.categories == nil {
		return
	}
	for c, text := range t.what.texts {
		shown := Category{Name: text[0], Reason: text[1]}
		if b.categorySeries != nil {
			shown.Deltas, shown.Max = deltas(b.categorySeries[c]), slices.Max(b.categorySeries[c])
		}
		for i := range t.list {
			if s := &t.list[i]; int(s.category) == c {
				shown.Peak.add(s.peak)
				shown.OOM.add(s.oom)
				shown.End.add(s.end)
			}
		}
		b.data.Categories = append(b.data.Categories, shown)
	}
}

// writeLabels puts the labels into the data, the one that holds the most at one time first.
func (b *builder) writeLabels() {
	labels := slices.Clone(b.sites.labels)
	slices.SortStableFunc(labels, func(x, y *label) int { return cmp.Compare(y.max, x.max) })
	b.data.Labels = []Label{}
	for _, l := range labels[:min(len(labels), b.limits.annotations)] {
		b.data.Labels = append(b.data.Labels, Label{shorten(l.text), l.allocations, l.max, l.peak, l.oom, l.end})
	}
}

func (h *Holding) add(more Holding) {
	h[0] += more[0]
	h[1] += more[1]
}

// deltas are the first value of a series, and the changes after it.
func deltas(series []uint64) []int64 {
	var list []int64
	before := uint64(0)
	for _, n := range series {
		list = append(list, int64(n-before))
		before = n
	}
	return list
}

// sample keeps what the chosen sites, and all categories, hold at a bucket's maximum.
func (b *builder) sample(series []int32) {
	t := b.sites
	for _, at := range series {
		t.list[at].series = append(t.list[at].series, t.list[at].now[0])
	}
	if t.categories == nil {
		return
	}
	if b.categorySeries == nil {
		b.categorySeries = make([][]uint64, len(t.now))
	}
	for c, sum := range t.now {
		b.categorySeries[c] = append(b.categorySeries[c], sum)
	}
}
