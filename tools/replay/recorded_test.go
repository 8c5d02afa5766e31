package replay

import (
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestParts: what several traces have in common, and what is said of it.
func TestParts(t *testing.T) {
	a, s, l := Parts{Addresses: true}, Parts{Statistics: true}, Parts{Layouts: true}
	all := Parts{true, true, true}
	for _, c := range []struct {
		p    Parts
		want string
	}{
		{a, "address"}, {s, "statistic"}, {l, "layout"}, {all, "address, statistic and layout"}, {Parts{true, false, true}, "address and layout"}, {Parts{}, ""},
		{all.and(a), "address"}, {s.and(all), "statistic"}, {l.and(all), "layout"}, {all.and(l), "layout"}, {a.and(l), ""}, {s.and(l), ""},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%+v: %q, not %q", c.p, got, c.want)
		}
	}
}

// TestPartsOfOperations: what one operation is compared with is compared, whatever the next ones have.
func TestPartsOfOperations(t *testing.T) {
	address := spec.Ptr(512)
	for _, c := range []struct {
		with trace.Expectation
		want Parts
	}{
		{trace.Expectation{}, Parts{}},
		{trace.Expectation{Addr: &address}, Parts{Addresses: true}},
		{trace.Expectation{Entries: []spec.TraceEntry{{}}}, Parts{Addresses: true}},
		{trace.Expectation{Stats: []int64{}}, Parts{Statistics: true}},
		{trace.Expectation{Layout: []spec.Segment{}}, Parts{Layouts: true}},
	} {
		var p Parts
		for _, e := range []trace.Expectation{{}, c.with, {}} {
			p.add(&e)
		}
		if p != c.want {
			t.Errorf("%+v: %+v", c.with, p)
		}
	}
}

// TestRecordedFrom: what recorded a trace is said in words.
func TestRecordedFrom(t *testing.T) {
	for _, c := range []struct{ source, device, want string }{
		{"torch 2.11.0+cu130", "NVIDIA H200", "PyTorch 2.11 on an H200"},
		{"torch 2.9.1", "Tesla T4", "PyTorch 2.9.1 on a Tesla T4"},
		{"torch 2.11.0", "", ""},
		{"by hand", "NVIDIA H200", ""},
	} {
		if got := recordedFrom(&trace.Header{Source: c.source, DeviceName: c.device}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
