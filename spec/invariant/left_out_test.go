package invariant

import (
	"testing"
)

// TestBreachesThatAreNotListed: how many violations the history has left out is told with those
// that it has.
func TestBreachesThatAreNotListed(t *testing.T) {
	h := NewHistory()
	for range 1000 {
		h.breaches.add(noReuseWhileInUse, 0, 0x1000, "too early")
	}
	r := &violationReport{}
	h.examine(&Observation{}, r)
	if len(r.found) == 0 || r.dropped[r.found[0].Number] != 1000-len(r.found) {
		t.Errorf("%d are listed, and %v left out", len(r.found), r.dropped)
	}
}

// TestLeftOutOfOne: violations that are all alike are one, with the number of those that are not
// listed.
func TestLeftOutOfOne(t *testing.T) {
	r := &violationReport{}
	for range maxViolations + 3 {
		r.add(noReuseWhileInUse, 0, 0x1000, "too early")
	}
	if list := r.list(); len(list) != 1 || list[0].Sentence != "too early (3 more like this are not listed)" {
		t.Errorf("%v", list)
	}
}
