package conformance

import (
	"fmt"
	"strings"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/conformance/perform"
	"gaugeblock/internal/kept"
	"gaugeblock/internal/race"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// TestKeptPrograms: a seed gives the same program as before, of which as much is checked and the same is met. Of a program
// that ends with a failure, the shortest one that is found is the same too. testdata/programs.txt has checksums of them; it is written
// anew where programs are to change:
//
//	go test ./conformance -run TestKeptPrograms -rewrite-answers
func TestKeptPrograms(t *testing.T) {
	if race.Enabled {
		t.Skip("a search of one goroutine, of which the race detector sees nothing")
	}
	right, wrong := withSettings(""), withSettings("roundup_power2_divisions:2")
	var got strings.Builder
	for _, area := range append(Areas(), &cachingArea) {
		for seed := uint64(1); seed <= 3; seed++ { // the third is a long one
			long := seed == 3
			length := 150
			if long {
				length = 2000
			}
			r := *area
			if long {
				r.Release = upstream.Newest().Name // programs of older ones do what the newest gets wrong
			}
			c := Seeded(seed)
			h := r.draw(c, seed)
			tried, err := newTrial(&r, h, Options{New: right, Every: 20})
			if err != nil {
				t.Fatal(err)
			}
			g := newGenerator(c, tried.program, &r)
			for len(tried.ops) < length {
				f := tried.step(g.Next())
				if f == nil && chance(c, misuseShare) {
					f = tried.probe()
				}
				if f != nil {
					t.Fatalf("%s, seed %d: %v", area.Name, seed, f)
				}
			}
			if f := tried.windDown(); f != nil {
				t.Fatalf("%s, seed %d: %v", area.Name, seed, f)
			}
			if long {
				fmt.Fprintf(&got, "%s %d program %s checked %d met %s\n", area.Name, seed, kept.Sum(h, tried.ops, tried.answers), tried.checked, kept.Sum(tried.labels))
				continue
			}
			faults := area.RunFaults(seed, 30, 6, Options{New: right})
			pairs := area.RunFaultPairs(seed, 20, 3, Options{New: right})
			fmt.Fprintf(&got, "%s %d program %s checked %d met %s faults %d %s pairs %d %s\n", area.Name, seed, kept.Sum(h, tried.ops, tried.answers), tried.checked, kept.Sum(tried.labels), faults.Checked, kept.Sum(faults.Labels), pairs.Checked, kept.Sum(pairs.Labels))
		}
	}
	for i := range contractAreas { // of what other allocators are asked, the reference keeps to most
		r := contractAreas[i]
		c := Seeded(1)
		tried, err := newTrial(&r, r.draw(c, 1), Options{New: right, Every: 20})
		if err != nil {
			t.Fatal(err)
		}
		var f *Failure
		for g := newGenerator(c, tried.program, &r); f == nil && len(tried.ops) < 400; {
			f = tried.step(g.Next())
		}
		fmt.Fprintf(&got, "%s program %s checked %d met %s failed %s\n", r.Name, kept.Sum(tried.ops, tried.answers), tried.checked, kept.Sum(tried.labels), kept.Sum(f))
	}
	for seed := uint64(1); seed <= 8; seed++ {
		o := Options{New: wrong, Against: right}
		f := Areas()[seed].Run(seed, 400, o).Failure
		if f == nil {
			fmt.Fprintf(&got, "%d does not fail\n", seed)
			continue
		}
		least := Minimise(f, o)
		fmt.Fprintf(&got, "%s %d: %s: %s, after %d operations, minimised to %d: %s\n", f.Area, seed, f.Class, f.Detail, f.Found, len(least.Ops), kept.Sum(f.Ops, least.Header, least.Ops, least.Detail))
	}
	kept.Compare(t, "testdata/programs.txt", got.String())
}

// withSettings makes the reference, with settings beside a program's.
func withSettings(other string) perform.Factory {
	return func(d spec.Driver, h *trace.Header) (spec.Allocator, error) {
		return alloc.New(d, alloc.Options{Geometry: h.Geometry, Settings: strings.Trim(h.Settings+","+other, ","), Rules: upstream.Newest().Rules})
	}
}
