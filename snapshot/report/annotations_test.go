package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// TestEndsWithoutStarts: an annotation that ends and did not start is left out.
func TestEndsWithoutStarts(t *testing.T) {
	annotation := func(stage string, us int64) spec.Annotation {
		return spec.Annotation{TimeNS: us * 1000, Fields: []spec.AnnotationField{{Key: "name", Value: "step"}, {Key: "stage", Value: stage}}}
	}
	b := &builder{file: &snapshot.File{ExternalAnnotations: []spec.Annotation{annotation("END", 5), annotation("START", 10), annotation("END", 30), annotation("END", 40)}}}
	for _, us := range []int64{1, 10, 20, 30, 31} {
		b.trace = append(b.trace, snapshot.TraceEntry{TimeUS: us})
	}
	if got := b.spans(); len(got) != 1 || got[0].First != 1 || got[0].Last != 3 {
		t.Errorf("%+v", got)
	}
}

// TestGrowthAndLongestSpans: an annotation's growth counts from the entry before its start, and the
// longest spans are shown, in the order of their starts.
func TestGrowthAndLongestSpans(t *testing.T) {
	b := &builder{limits: limits{annotations: 2}, allocated: []uint64{100, 10, 30, 60, 50, 50}, file: &snapshot.File{}}
	for us := range int64(6) {
		b.trace = append(b.trace, snapshot.TraceEntry{})
		b.trace[us].TimeUS = 10 * (us + 1)
	}
	span := func(name string, first, last int64) {
		for _, end := range []struct {
			stage string
			us    int64
		}{{"START", first}, {"END", last}} {
			b.file.ExternalAnnotations = append(b.file.ExternalAnnotations, spec.Annotation{TimeNS: end.us * 1000,
				Fields: []spec.AnnotationField{{Key: "name", Value: name}, {Key: "stage", Value: end.stage}}})
		}
	}
	span("short", 25, 31) // the entry at 30
	span("long", 25, 51)  // the entries at 30, 40 and 50
	span("short", 35, 51) // the entries at 40 and 50
	got := b.annotations()
	want := Annotations{
		Names: []Annotation{{Name: "short", Count: 2, DurationUS: 10, MaxAllocated: 60, MaxGrowth: 20, Entry: 3}, {Name: "long", Count: 1, DurationUS: 20, MaxAllocated: 60, MaxGrowth: 40, Entry: 3}},
		Spans: []Span{{Name: 1, First: 2, Last: 4}, {Name: 0, First: 3, Last: 4}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Span{})); diff != "" {
		t.Error(diff)
	}
}
