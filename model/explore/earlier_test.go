package explore

import "testing"

// TestEarlier: of two failures of one level that of a state is told, and of two alike the first.
func TestEarlier(t *testing.T) {
	state, other := &failure{State: 2, Step: none}, &failure{State: 1, Step: none}
	step, otherStep := &failure{State: 1, Step: 0}, &failure{State: 0, Step: 3}
	for _, test := range []struct{ a, b, want *failure }{
		{nil, nil, nil}, {nil, state, state}, {nil, step, step}, {state, nil, state}, {step, nil, step},
		{state, other, state}, {step, otherStep, step}, {state, step, state}, {step, state, state},
	} {
		if got := earlier(test.a, test.b); got != test.want {
			t.Errorf("%+v and %+v: %+v", test.a, test.b, got)
		}
	}
}
