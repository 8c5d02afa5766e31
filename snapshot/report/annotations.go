package report

import (
	"cmp"
	"slices"
	"sort"

	"gaugeblock/spec"
)

// Annotations of a program, such as a training step, are kept beside the history with their
// times (torch.profiler.record_function, torch.autograd.profiler): a START and an END with
// one name. Those of optimizers are there without the program's doing.

// maxAnnotations is how many names, and how many spans, are shown.
const maxAnnotations = 200

// maxNote is the characters of a note.
const maxNote = 2000

// Annotations are the annotations of a history that has times.
type Annotations struct {
	Names []Annotation `json:"names"` // the one with the most allocated memory first
	Spans []Span       `json:"spans"` // the longest, in order of time
	More  int          `json:"more"`  // names that are not shown
}

// Annotation is all spans of one name.
type Annotation struct {
	Name         string `json:"name"`
	Count        int    `json:"count"`
	DurationUS   int64  `json:"durationUS"` // in total
	MaxAllocated uint64 `json:"maxAllocated"`
	MaxGrowth    int64  `json:"maxGrowth"` // of allocated memory from its start to its end
	Entry        int    `json:"entry"`     // where MaxAllocated is
}

// Span is an annotation from its start to its end.
type Span struct {
	Name  int `json:"name"`  // index into Names; -1: not shown
	First int `json:"first"` // entry after its start
	Last  int `json:"last"`  // entry before its end

	name string
}

// annotations reads the annotations of the device.
func (b *builder) annotations() Annotations {
	shown := Annotations{Names: []Annotation{}, Spans: []Span{}}
	if len(b.trace) == 0 || b.trace[0].TimeUS == 0 {
		return shown
	}
	names := map[string]*Annotation{}
	var order []string
	spans := b.spans()
	if len(spans) == 0 {
		return shown
	}
	highest := newMaxima(b.allocated)
	for i := range spans {
		s := &spans[i]
		a := names[s.name]
		if a == nil {
			a = &Annotation{Name: shorten(s.name), Entry: -1}
			names[s.name] = a
			order = append(order, s.name)
		}
		a.Count++
		a.DurationUS += b.trace[s.Last].TimeUS - b.trace[s.First].TimeUS
		if at := highest.in(s.First, s.Last); a.Entry < 0 || b.allocated[at] > a.MaxAllocated {
			a.MaxAllocated, a.Entry = b.allocated[at], at
		}
		a.MaxGrowth = max(a.MaxGrowth, int64(b.allocated[s.Last])-int64(b.allocated[max(s.First-1, 0)]))
	}
	slices.SortStableFunc(order, func(x, y string) int { return cmp.Compare(names[y].MaxAllocated, names[x].MaxAllocated) })
	shown.More = max(0, len(order)-b.limits.annotations)
	place := map[string]int{}
	for i, name := range order[:len(order)-shown.More] {
		place[name] = i
		shown.Names = append(shown.Names, *names[name])
	}
	slices.SortStableFunc(spans, func(x, y Span) int { return cmp.Compare(y.Last-y.First, x.Last-x.First) })
	for _, s := range spans {
		if at, known := place[s.name]; known && len(shown.Spans) < b.limits.annotations {
			s.Name = at
			shown.Spans = append(shown.Spans, s)
		}
	}
	slices.SortStableFunc(shown.Spans, func(x, y Span) int { return cmp.Compare(x.First, y.First) })
	return shown
}

// spans pairs the starts and ends. One without its end, and one in which the history has no
// entry, is left out.
func (b *builder) spans() []Span {
	open := map[string][]int64{} // the starts that have no end yet
	var spans []Span
	for i := range b.file.ExternalAnnotations {
		a := &b.file.ExternalAnnotations[i]
		if a.Device != b.device {
			continue
		}
		name, stage := field(a, "name"), field(a, "stage")
		switch stage {
		case "START":
			open[name] = append(open[name], a.TimeNS/1000)
		case "END":
			starts := open[name]
			if len(starts) == 0 {
				continue
			}
			open[name] = starts[:len(starts)-1]
			first, last := b.entriesFrom(starts[len(starts)-1]), b.entriesFrom(a.TimeNS/1000+1)-1
			if first <= last {
				spans = append(spans, Span{First: first, Last: last, name: name})
			}
		}
	}
	return spans
}

func field(a *spec.Annotation, key string) string {
	for _, f := range a.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// entriesFrom is the first entry at a time or later.
func (b *builder) entriesFrom(timeUS int64) int {
	return sort.Search(len(b.trace), func(i int) bool { return b.trace[i].TimeUS >= timeUS })
}

// maxima finds the maximum of a range of values in a number of steps that grows with the
// square root of how many values there are.
type maxima struct {
	values []uint64
	size   int   // of a part
	parts  []int // the index of the maximum of each part
}

func newMaxima(values []uint64) *maxima {
	m := &maxima{values: values, size: 1}
	for m.size*m.size < len(values) {
		m.size++
	}
	for i := range values {
		if i%m.size == 0 {
			m.parts = append(m.parts, i)
		}
		m.take(&m.parts[i/m.size], i)
	}
	return m
}

// take replaces an index by another one whose value is larger.
func (m *maxima) take(at *int, i int) {
	if m.values[i] > m.values[*at] {
		*at = i
	}
}

// in is the index of the maximum from first to last, the first one of equals.
func (m *maxima) in(first, last int) int {
	at := first
	for i := first; i <= last; {
		if i%m.size == 0 && i+m.size-1 <= last {
			m.take(&at, m.parts[i/m.size])
			i += m.size
			continue
		}
		m.take(&at, i)
		i++
	}
	return at
}
