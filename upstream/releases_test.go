package upstream

import "testing"

// TestZeroRules: the zero value of Rules is 2.11, for which the reference was written first.
func TestZeroRules(t *testing.T) {
	r, found := Find("2.11")
	if !found || r.Rules != (Rules{}) {
		t.Errorf("2.11 is %+v, found %v; want the zero value", r.Rules, found)
	}
}

func TestFind(t *testing.T) {
	for _, r := range Releases() {
		if found, ok := Find(r.Name); !ok || found != r {
			t.Errorf("Find(%q) = %+v, %v", r.Name, found, ok)
		}
	}
	if r, ok := Find("2.5"); ok {
		t.Errorf("Find(2.5) = %+v", r)
	}
	if got := Newest().Name; got != "2.15" {
		t.Errorf("the newest release is %s", got)
	}
}
