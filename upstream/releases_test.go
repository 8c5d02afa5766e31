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

// TestFollowing: the zero value is 2.11, and a release follows its own rules.
func TestFollowing(t *testing.T) {
	if r, found := OldestWith(Rules{}); !found || r.Name != "2.11" {
		t.Errorf("the zero value is %q", r.Name)
	}
	for _, r := range Releases() {
		if same, found := OldestWith(r.Rules); !found || same.Rules != r.Rules {
			t.Errorf("%s follows %q", r.Name, same.Name)
		}
	}
	odd := Newest().Rules
	odd.FirstRoutingWins = true
	if r, found := OldestWith(odd); found {
		t.Errorf("rules that no release has are those of %s", r.Name)
	}
}
