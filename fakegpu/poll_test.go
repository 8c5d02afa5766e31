package fakegpu

import "testing"

// TestBoundQueries: a program that polls an event of work that is held comes to an end after
// the bound, and never does without one.
func TestBoundQueries(t *testing.T) {
	for _, test := range []struct {
		waits   WaitPolicy
		bounded bool
		want    int // the query that finds the work complete; 0: none of 20
	}{{WaitsDrain, true, 6}, {WaitsDrain, false, 0}, {WaitsFail, true, 0}} {
		g := New(Config{Waits: test.waits})
		s, err := g.CreateStream(0)
		if err != nil {
			t.Fatal(err)
		}
		e, err := g.CreateEvent(0)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time the bound is as far away as the first
			if err := g.Busy(0, s); err != nil {
				t.Fatal(err)
			}
			if err := g.RecordEvent(e, 0, s); err != nil {
				t.Fatal(err)
			}
			if test.bounded {
				g.BoundQueries(5)
			}
			got := 0
			for i := 1; i <= 20 && got == 0; i++ {
				complete, err := g.QueryEvent(e)
				if err != nil {
					t.Fatal(err)
				}
				if complete {
					got = i
				}
			}
			if got != test.want {
				t.Errorf("%+v: complete at query %d", test, got)
			}
		}
	}
}
