package concurrent

import (
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"gaugeblock/alloc"
	"gaugeblock/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryMethod: the table has every method of alloc.Allocator, and nothing else.
func TestEveryMethod(t *testing.T) {
	allocator := reflect.TypeFor[*alloc.Allocator]()
	for i := range allocator.NumMethod() {
		if name := allocator.Method(i).Name; methods[name].call == nil || methods[name].weight == 0 {
			t.Errorf("%s is not called", name)
		}
	}
	for name := range methods {
		if _, there := allocator.MethodByName(name); !there {
			t.Errorf("there is no method %s", name)
		}
	}
}

const goroutines = 16

// TestConcurrent lets 16 goroutines call random methods. Between the rounds all of them
// rest, and everything is checked.
func TestConcurrent(t *testing.T) {
	seed, rounds, calls := uint64(1), 12, 120
	if text := os.Getenv("GAUGEBLOCK_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if testing.Short() {
		rounds = 6
	}
	w := newWorld(t)
	var workers []*worker
	for i := range goroutines {
		workers = append(workers, &worker{world: w, r: rand.New(rand.NewPCG(seed, uint64(i))), thread: spec.Thread(i)})
	}
	deck := deck()
	for round := range rounds {
		w.driver.oneIn = []int{0, 20, 100}[round%3]
		var together sync.WaitGroup
		for _, k := range workers {
			together.Go(func() {
				for range calls {
					deck[k.r.IntN(len(deck))](k)
				}
			})
		}
		together.Wait()
		w.check(workers)
	}
	w.finish(workers)
}

// deck has each method as often as its weight says, in a fixed order.
func deck() (calls []func(*worker)) {
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		for range methods[name].weight {
			calls = append(calls, methods[name].call)
		}
	}
	return calls
}
