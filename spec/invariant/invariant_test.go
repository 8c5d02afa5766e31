package invariant_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

const everything = invariant.FromSnapshot | invariant.FromStats | invariant.FromInspector | invariant.FromDriver | invariant.FromHistory

// sentences are what was found, each with the name of the invariant.
func sentences(violations []invariant.Violation) (list []string) {
	for _, v := range violations {
		list = append(list, v.Invariant+": "+v.Sentence)
	}
	return list
}

func TestGoodSceneHoldsAll(t *testing.T) {
	findings, err := invariant.Judge(goodScene().observe(everything))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		want := invariant.Holds
		if f.Invariant.Name == "CheckpointRestoresWhatItSaved" {
			want = invariant.NotObservable // nothing was restored
		}
		if f.Verdict != want {
			t.Errorf("%s: %v instead of %v\n%v", f.Invariant.Name, f.Verdict, want, f.Violations)
		}
	}
}

// Verdicts without the parts of an observation: what cannot be seen is not said to
// hold.
func TestObservableFromPart(t *testing.T) {
	for _, c := range []struct {
		from invariant.Sources
		want string // numbers of the invariants that hold
	}{
		{0, "[]"},
		{invariant.FromSnapshot, "[1 2 3 4 5 7]"},
		{invariant.FromStats, "[9]"},
		{invariant.FromInspector, "[1 2 3 4 5 6 10 11 12]"},
		{invariant.FromDriver, "[]"},
		{invariant.FromHistory, "[2 14]"},
		{invariant.FromDriver | invariant.FromStats, "[9 17]"},
		{invariant.FromDriver | invariant.FromSnapshot, "[1 2 3 4 5 7 17]"},
		{invariant.FromSnapshot | invariant.FromHistory, "[1 2 3 4 5 7 13 14 15 ]"},
		{invariant.FromInspector | invariant.FromStats, "[1 2 3 4 5 6 8 9 10 11 12]"},
		{everything, "[1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 17]"},
	} {
		findings, err := invariant.Judge(goodScene().observe(c.from))
		if err != nil {
			t.Fatal(err)
		}
		var hold []int
		for _, f := range findings {
			switch f.Verdict {
			case invariant.Holds:
				hold = append(hold, f.Invariant.Number)
			case invariant.Broken:
				t.Errorf("from %v: %v", c.from, f.Violations)
			}
		}
		if got := fmt.Sprint(hold); got != strings.ReplaceAll(c.want, " ]", "]") {
			t.Errorf("from %v: %s hold, want %s", c.from, got, c.want)
		}
	}
}

// Each breach breaks one invariant and no other, and is told in exactly these
// words.
func TestBreachesAreNamed(t *testing.T) {
	for _, b := range breaches {
		t.Run(b.name(), func(t *testing.T) {
			s := goodScene()
			b.change(s)
			violations, err := invariant.CheckAll(s.observe(b.from))
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, sentence := range b.want {
				want = append(want, b.invariant+": "+sentence)
			}
			if diff := cmp.Diff(want, sentences(violations)); diff != "" {
				t.Error(diff)
			}
			for _, v := range violations {
				if v.Device != 0 || v.Address != 0 && !strings.Contains(v.Sentence, v.Address.String()) {
					t.Errorf("device %d, address %v: %s", v.Device, v.Address, v.Sentence)
				}
			}
		})
	}
}

// Without a breach for each way of seeing an invariant the check could be empty.
func TestEveryInvariantIsBreached(t *testing.T) {
	for _, inv := range invariant.All() {
		for _, need := range inv.Seen {
			if need&invariant.FromRestore != 0 {
				continue // see TestCheckpointRestores
			}
			seen := false
			for _, b := range breaches {
				seen = seen || b.invariant == inv.Name && b.from&need == need
			}
			if !seen {
				t.Errorf("%s: no breach is seen from %v", inv.Name, need)
			}
		}
	}
}

// A number, a name that TLA+ takes for an operator, and a sentence.
func TestInvariantsAreWellFormed(t *testing.T) {
	names := map[string]bool{}
	for i, inv := range invariant.All() {
		if inv.Number != i+1 {
			t.Errorf("%s has number %d, want %d", inv.Name, inv.Number, i+1)
		}
		if !regexp.MustCompile(`^([A-Z][a-z]+)+$`).MatchString(inv.Name) || names[inv.Name] {
			t.Errorf("%q is no name, or not the only one", inv.Name)
		}
		names[inv.Name] = true
		if !strings.HasSuffix(inv.Sentence, ".") || len(inv.Seen) == 0 {
			t.Errorf("%s: sentence %q, seen from %v", inv.Name, inv.Sentence, inv.Seen)
		}
	}
}

func TestInvariantsIsTheCallersOwn(t *testing.T) {
	invariant.All()[0].Name = "changed"
	if got := invariant.All()[0].Name; got != "BlocksTileSegments" {
		t.Errorf("name %q", got)
	}
}

func TestCheckOneInvariant(t *testing.T) {
	s := goodScene()
	s.snapshot.Segments[0].ActiveSize++
	inv := invariant.All()[6]
	finding, err := inv.Check(s.observe(everything))
	if err != nil {
		t.Fatal(err)
	}
	want := invariant.Finding{Invariant: inv, Verdict: invariant.Broken, Violations: []invariant.Violation{{
		Number: 7, Invariant: "SegmentFiguresAddUp", Address: 0x200000,
		Sentence: "segment 0x200000 says 1537 active bytes, its blocks add up to 1536",
	}}}
	if diff := cmp.Diff(want, finding); diff != "" {
		t.Error(diff)
	}
	const line = "SegmentFiguresAddUp (invariant 7, device 0): segment 0x200000 says 1537 active bytes, its blocks add up to 1536"
	if got := finding.Violations[0].String(); got != line {
		t.Error(got)
	}
}

// A thousand violations are told as sixteen and a number, seventeen as well, and sixteen as they
// are.
func TestManyViolations(t *testing.T) {
	for many, last := range map[int]string{
		1000: "segment 0x51e00000 (2097152 bytes) has no blocks (984 more like this are not listed)",
		17:   "segment 0x51e00000 (2097152 bytes) has no blocks (1 more like this are not listed)",
		16:   "segment 0x51e00000 (2097152 bytes) has no blocks",
	} {
		s := goodScene()
		for i := range many {
			g := spec.Segment{Address: spec.Ptr(0x50000000 + i*int(2*spec.MiB)), TotalSize: 2 * spec.MiB}
			s.snapshot.Segments = append(s.snapshot.Segments, g)
		}
		violations, err := invariant.CheckAll(s.observe(invariant.FromSnapshot))
		if err != nil {
			t.Fatal(err)
		}
		if len(violations) != 16 {
			t.Fatalf("%d violations of %d", len(violations), many)
		}
		if got := violations[15].Sentence; got != last {
			t.Errorf("%q instead of %q", got, last)
		}
		if got := violations[14].Sentence; got != "segment 0x51c00000 (2097152 bytes) has no blocks" {
			t.Errorf("%q: the number is told once", got)
		}
	}
}

// Errors are not findings.
func TestObservationsThatCannotBeChecked(t *testing.T) {
	cause := errors.New("cause")
	s := goodScene()
	s.views.err = cause
	if _, err := invariant.Judge(s.observe(everything)); !errors.Is(err, cause) {
		t.Errorf("Judge: %v", err)
	}
	if _, err := invariant.All()[0].Check(s.observe(everything)); !errors.Is(err, cause) {
		t.Errorf("Check: %v", err)
	}
	if _, err := invariant.CheckInspector(0, s.views, spec.DefaultGeometry(), nil); !errors.Is(err, cause) {
		t.Errorf("CheckInspector: %v", err)
	}
	const want = "geometry: MinBlock 0 is not a power of two"
	if _, err := invariant.CheckAll(&invariant.Observation{}); err == nil || err.Error() != "observation: "+want {
		t.Errorf("CheckAll: %v", err)
	}
	if _, err := invariant.CheckInspector(0, s.views, spec.Geometry{}, nil); err == nil || err.Error() != "checker: "+want {
		t.Errorf("CheckInspector: %v", err)
	}
}

// The same state on other devices is found as well, and told with the device.
func TestDevices(t *testing.T) {
	s := goodScene()
	for _, g := range s.snapshot.Segments {
		g.Device = 2
		s.snapshot.Segments = append(s.snapshot.Segments, g)
	}
	o := s.observe(invariant.FromSnapshot)
	o.Stats = []spec.DeviceStats{s.stats, {}, s.stats}
	violations, err := invariant.CheckAll(o)
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v, %v", violations, err)
	}
	s.snapshot.Segments[7].RequestedSize = 1
	violations, err = invariant.CheckAll(o)
	if err != nil || len(violations) != 1 || violations[0].Device != 2 {
		t.Errorf("%v, %v", violations, err)
	}

	// By device, whatever the addresses are.
	s.snapshot.Segments[11].RequestedSize = 1
	s.snapshot.Segments[2].RequestedSize = 1
	s.snapshot.Segments[7].Address = 0 // and the block is not where it was
	violations, err = invariant.CheckAll(o)
	var devices []spec.Device
	for _, v := range violations {
		if v.Number == 7 {
			devices = append(devices, v.Device)
		}
	}
	if diff := cmp.Diff([]spec.Device{0, 2, 2}, devices); err != nil || diff != "" {
		t.Error(err, diff)
	}

	// A device that there cannot be is looked at like any other.
	s.snapshot.Segments = s.snapshot.Segments[:1]
	s.snapshot.Segments[0].Device = -1
	if _, err := invariant.CheckAll(o); err != nil {
		t.Error(err)
	}

	s = goodScene()
	s.snapshot.Segments[0].Device = 1
	violations, err = invariant.CheckAll(s.observe(invariant.FromSnapshot))
	const want = "LiveBlocksDisjoint: segment 0x10000000 (20971520 bytes, device 0) is listed behind segment 0x200000 of device 1: not by device and address"
	if diff := cmp.Diff([]string{want}, sentences(violations)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// What passed by the cache, and what did not come from the driver, is not lost, and
// not allocated twice.
func TestMemoryBesideTheCache(t *testing.T) {
	s := goodScene()
	s.driver = invariant.DriverBytes{Held: 76*oneMiB - 2*oneMiB + 512, Uncached: 512, Foreign: 2 * oneMiB}
	s.history.Allocated(invariant.Allocation{Ptr: 0x50000000, Bytes: 512, Uncached: true})
	violations, err := invariant.CheckAll(s.observe(everything))
	if err != nil || violations != nil {
		t.Errorf("%v, %v", violations, err)
	}
}
