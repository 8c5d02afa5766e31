package concurrent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// What a method answers about one small thing (a setting, a use count, a text) depends only on
// the calls about the same thing. Each such thing is an object with a sequential
// specification of a few lines, and Porcupine decides whether the answers that goroutines got can be
// had one after the other. Mallocs, frees and what concerns them are checked against the model in tests/linearizability.

// input and output are of a call: a number that is written, or -1 for a read.
type input struct{ write int }

// object is a thing with a number in it.
type object struct {
	name    string
	initial int
	write   func(a *alloc.Allocator, thread, v int) error
	read    func(a *alloc.Allocator, thread int) (int, error)
	// step is the number after a call that writes, and whether the call succeeds; nil: it is v.
	step func(state, v int) (next int, ok bool)
}

// text is a number as a string of the program, and number the inverse.
func text(v int) string { return fmt.Sprint(v) }

func number(s string) (v int) {
	_, _ = fmt.Sscan(s, &v)
	return v
}

var objects = []object{
	{name: "user metadata",
		write: func(a *alloc.Allocator, _, v int) error { a.SetUserMetadata(1, text(v)); return nil },
		read:  func(a *alloc.Allocator, _ int) (int, error) { return number(a.UserMetadata(1)), nil }},
	{name: "caching", initial: 1,
		write: func(a *alloc.Allocator, _, v int) error { a.Enable(v%2 == 1); return nil },
		read:  func(a *alloc.Allocator, _ int) (int, error) { return bit(a.Enabled()), nil },
		step:  func(_, v int) (int, bool) { return v % 2, true }},
	{name: "history",
		write: func(a *alloc.Allocator, _, v int) error {
			return a.RecordHistory(spec.HistoryOptions{Enabled: v%2 == 1, MaxEntries: 3})
		},
		read: func(a *alloc.Allocator, _ int) (int, error) { return bit(a.HistoryEnabled()), nil },
		step: func(_, v int) (int, bool) { return v % 2, true }},
	{name: "memory fraction", initial: 64,
		write: func(a *alloc.Allocator, _, v int) error { return a.SetMemoryFraction(1, float64(v%64)/64) },
		read: func(a *alloc.Allocator, _ int) (int, error) {
			f, err := a.MemoryFraction(1)
			return int(f * 64), err
		},
		step: func(_, v int) (int, bool) { return v % 64, true }},
	{name: "settings",
		write: func(a *alloc.Allocator, _, v int) error {
			return a.Configure("roundup_power2_divisions:" + []string{"1", "2", "4", "8"}[v%4])
		},
		read: func(a *alloc.Allocator, _ int) (int, error) {
			return slices.Index([]uint64{1, 2, 4, 8}, max(1, a.Config().Divisions[0])), nil
		},
		step: func(_, v int) (int, bool) { return v % 4, true }},
	{name: "use count of a pool",
		write: func(a *alloc.Allocator, _, v int) error {
			if v%2 == 1 {
				return a.CreatePool(0, spec.PoolID{User: 7}, spec.PoolOptions{})
			}
			return a.ReleasePool(0, spec.PoolID{User: 7})
		},
		read: func(a *alloc.Allocator, _ int) (int, error) {
			n, err := a.PoolUseCount(0, spec.PoolID{User: 7})
			if err != nil {
				return 0, nil // it was never created
			}
			return n, nil
		},
		step: func(state, v int) (int, bool) {
			switch {
			case state < 0: // released, and never revived
				return state, false
			case v%2 == 1:
				return state + 1, true
			case state > 1:
				return state - 1, true
			case state == 1:
				return -1, true
			}
			return state, false
		}},
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// callersOfAnObject is the most goroutines that call an object. Porcupine may have to try each subset of
// the calls that are made at the same time: of 16 calls in a moment, of 32 never.
const callersOfAnObject = 16

// TestObjects lets goroutines call all objects, and Porcupine check each. If there are more than may call one
// object, they and the objects are divided into groups.
func TestObjects(t *testing.T) {
	runs := 40
	if testing.Short() {
		runs = 10
	}
	for run := range runs {
		gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
		a, err := alloc.New(gpu, alloc.Options{})
		if err != nil {
			t.Fatal(err)
		}
		calls := make([][][]porcupine.Operation, goroutines) // by goroutine and object
		start := time.Now()
		atOnce(func(thread int, back func()) {
			calls[thread] = make([][]porcupine.Operation, len(objects))
			r := rand.New(rand.NewPCG(uint64(run), uint64(thread)))
			of := objectsOf(thread)
			for range 4 * len(of) {
				i := of[r.IntN(len(of))]
				calls[thread][i] = append(calls[thread][i], callObject(a, &objects[i], thread, r, start))
				back()
			}
		})
		for i := range objects {
			var history []porcupine.Operation
			for thread := range goroutines {
				history = append(history, calls[thread][i]...)
			}
			if !porcupine.CheckOperations(specification(&objects[i]), history) {
				t.Fatalf("run %d: the answers about %q cannot be had one after the other: %+v", run, objects[i].name, history)
			}
		}
	}
}

// objectsOf is the objects that a goroutine calls: those of its group.
func objectsOf(thread int) (of []int) {
	groups := (goroutines + callersOfAnObject - 1) / callersOfAnObject
	for i := range objects {
		if i%groups == thread%groups {
			of = append(of, i)
		}
	}
	return of
}

func callObject(a *alloc.Allocator, o *object, thread int, r *rand.Rand, start time.Time) porcupine.Operation {
	op := porcupine.Operation{ClientId: thread, Input: input{-1}, Call: int64(time.Since(start))}
	if r.IntN(2) == 0 {
		v := r.IntN(1000)
		op.Input, op.Output = input{v}, bit(o.write(a, thread, v) == nil)
	} else {
		v, err := o.read(a, thread)
		if err != nil {
			v = -1
		}
		op.Output = v
	}
	op.Return = int64(time.Since(start))
	return op
}

func specification(o *object) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return o.initial },
		Step: func(state, in, out any) (bool, any) {
			write := in.(input).write
			switch {
			case write < 0:
				return max(state.(int), 0) == out.(int), state
			case o.step == nil:
				return out.(int) == 1, write
			}
			next, ok := o.step(state.(int), write)
			return out.(int) == bit(ok), next
		},
		Equal: func(a, b any) bool { return a == b },
	}
}

// TestTheObjectsAreChecked: an answer that nobody could have got is found.
func TestTheObjectsAreChecked(t *testing.T) {
	history := []porcupine.Operation{
		{ClientId: 0, Input: input{5}, Output: 1, Call: 0, Return: 1},
		{ClientId: 1, Input: input{-1}, Output: 4, Call: 2, Return: 3},
	}
	if porcupine.CheckOperations(specification(&objects[0]), history) {
		t.Error("a value was read that nobody wrote")
	}
}
