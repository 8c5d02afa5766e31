package explore

import (
	"errors"
	"fmt"
	"testing"
)

// A counter goes up by one or two.
type counter struct{ max byte }

func (counter) Labels() []string             { return []string{"One", "Two"} }
func (counter) Initial() []byte              { return []byte{0, 1} }
func (counter) Key(to []byte, s byte) []byte { return append(to, s) }
func (counter) Decoder() func([]byte) byte   { return func(key []byte) byte { return key[0] } }
func (c counter) Next(s byte, yield func(int, byte)) {
	for i := range byte(2) {
		if s+i < c.max {
			yield(int(i), s+i+1)
		}
	}
}

func below(limit byte) Options[byte] {
	return Options[byte]{Workers: 1, Invariants: []Invariant[byte]{{Name: "Below", Holds: func(s byte) bool { return s < limit }}}}
}

// A failingStore fails once, and counts what it is asked.
type failingStore struct {
	store
	calls, failsAt int
}

var errStore = errors.New("the store fails")

func (f *failingStore) fails() error {
	if f.calls++; f.calls == f.failsAt {
		return errStore
	}
	return nil
}

func (f *failingStore) add(key []byte, print fingerprint, by arrival) error {
	return errors.Join(f.fails(), f.store.add(key, print, by))
}
func (f *failingStore) read(to *batch) error { return errors.Join(f.fails(), f.store.read(to)) }
func (f *failingStore) advance() error       { return errors.Join(f.fails(), f.store.advance()) }
func (f *failingStore) arrival(state int) (arrival, error) {
	by, err := f.store.arrival(state)
	return by, errors.Join(f.fails(), err)
}

// TestStoreFails: whatever fails ends the exploration at once, and is its error.
func TestStoreFails(t *testing.T) {
	explore := func(failsAt int) (calls int, err error) {
		s := &failingStore{store: &memoryStore{}, failsAt: failsAt}
		e := newExploration(counter{9}, below(7), Resources{})
		e.store = s
		if err = e.begin(); err == nil {
			err = e.run()
		}
		return s.calls, err
	}
	all, err := explore(0)
	if want := 10 + 4 + 7 + 4; all != want || err != nil { // states, levels, batches and ends of levels, the counterexample
		t.Fatalf("%d calls, want %d, %v", all, want, err)
	}
	for at := 1; at <= all; at++ {
		if calls, err := explore(at); !errors.Is(err, errStore) || calls != at {
			t.Errorf("call %d fails: %d calls, %v", at, calls, err)
		}
	}
}

// A fickle specification is another one from some call on.
type fickle struct {
	counter
	calls, until *int
	begins       []byte
	then         func(s byte, yield func(int, byte))
}

func (f fickle) Initial() []byte {
	if *f.calls++; *f.calls > 1 {
		return f.begins
	}
	return f.counter.Initial()
}

func (f fickle) Next(s byte, yield func(int, byte)) {
	if *f.until--; *f.until < 0 {
		f.then(s, yield)
		return
	}
	f.counter.Next(s, yield)
}

// TestRecordedSteps: a counterexample is followed from its beginning. That it leads elsewhere is said.
func TestRecordedSteps(t *testing.T) {
	elsewhere := func(state int) string {
		return fmt.Sprintf(": the recorded steps to state %d lead elsewhere: a file of states was changed, or steps are not always yielded in the same order", state)
	}
	back := func(s byte, yield func(int, byte)) { yield(0, s); yield(1, s) }
	step := Options[byte]{Workers: 1, Steps: []StepProperty[byte]{{"Not to 6", func(_ byte, _ int, to byte) bool { return to != 6 }}}}
	loop := Options[byte]{Workers: 1, LeadsTo: []LeadsTo[byte]{{Name: "To 9", From: func(s byte) bool { return s == 4 }, To: func(s byte) bool { return s == 9 }, Fair: [][]int{{0, 1}}}}}
	for _, c := range []struct {
		name   string
		of     Options[byte]
		begins []byte
		until  int // calls of Next as they were
		then   func(s byte, yield func(int, byte))
		want   string
	}{
		{"no other initial states", below(7), []byte{0, 1}, 1000, nil, ""},
		{"no initial state", below(7), nil, 1000, nil, elsewhere(7)},
		{"one initial state", below(7), []byte{0}, 1000, nil, elsewhere(7)},
		{"other initial states", below(7), []byte{4, 1}, 1000, nil, ""},
		{"no steps", below(7), []byte{0, 1}, 7, func(byte, func(int, byte)) {}, elsewhere(7)},
		{"steps that go nowhere", below(7), []byte{0, 1}, 7, back, elsewhere(7)},
		{"a step of a property", step, []byte{0, 1}, 1000, nil, ""},
		{"the step is not there", step, []byte{0, 1}, 6, func(byte, func(int, byte)) {}, elsewhere(4)},
		{"a way to a loop", loop, []byte{0, 1}, 1000, nil, ""},
		{"no way to the loop", loop, []byte{0, 1}, 11, func(byte, func(int, byte)) {}, elsewhere(4)},
		{"steps to what was not found", loop, []byte{0, 1}, 11, func(s byte, yield func(int, byte)) { yield(0, 77); yield(1, 78) }, elsewhere(4)},
	} {
		calls, until := 0, c.until
		r, err := ExploreWith(fickle{counter{8}, &calls, &until, c.begins, c.then}, c.of, Resources{})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want || (r.Violation == nil) != (c.want != "") {
			t.Errorf("%s: %q, want %q; %v", c.name, got, c.want, r.Violation)
		}
	}
}

// circle is a store of which a state was reached from itself.
type circle struct{ memoryStore }

func (circle) arrival(state int) (arrival, error) { return arrival{from: uint32(state)}, nil }

// TestNumbersThatContradict: a path that has no beginning, a level that lost a state, and more states than have numbers.
func TestNumbersThatContradict(t *testing.T) {
	for _, c := range []struct {
		want    string
		store   store
		before  func(e *exploration[byte])
		between func(e *exploration[byte])
	}{
		{"dir: the recorded steps to state 7 lead elsewhere: a file of states was changed, or steps are not always yielded in the same order", &circle{}, nil, nil},
		{"dir: level 1 has 2 states, and 3 were found", &memoryStore{}, nil, func(e *exploration[byte]) { e.last++ }},
		{"after 4294967295 states: there are more than 2^32 states", &memoryStore{}, func(e *exploration[byte]) { e.result.States = maxStates }, nil},
	} {
		e := newExploration(counter{9}, below(7), Resources{})
		e.resources.Dir, e.store = "dir", c.store
		if c.before != nil {
			c.before(e)
		}
		err := e.begin()
		if err == nil {
			if c.between != nil {
				c.between(e)
			}
			err = e.run()
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
