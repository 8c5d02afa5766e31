package concurrent

import (
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"gaugeblock/alloc"
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

// goroutines is how many call at the same time.
var goroutines = 16

func init() {
	flag.IntVar(&goroutines, "goroutines", goroutines, "how many goroutines call at the same time")
}

// TestConcurrent lets all goroutines call random methods. Between the rounds all of them
// rest, and everything is checked.
func TestConcurrent(t *testing.T) {
	seed, rounds, calls := uint64(1), 4*len(focuses), 150
	if text := os.Getenv("GAUGEBLOCK_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if testing.Short() {
		rounds = len(focuses)
	}
	w := newWorld(t)
	workers := newWorkers(w, seed)
	for round := range rounds {
		deck := deck(focuses[round%len(focuses)])
		w.driver.oneIn = []int{0, 20, 100}[round%3]
		if w.driver.panics = round%len(focuses) == pages; w.driver.panics {
			w.driver.oneIn = 6
			if err := w.a.Configure("expandable_segments:True"); err != nil {
				t.Fatal(err)
			}
		}
		doAtOnce(workers, deck, calls)
		w.check(workers)
	}
	w.finish(workers)
}

// TestFirstTimes: what happens once in the life of an allocator, at once with what depends on it.
func TestFirstTimes(t *testing.T) {
	for range 20 {
		w := newWorld(t)
		workers := newWorkers(w, 0)
		atOnce(func(i int, back func()) {
			for range 6 {
				workers[i].enablePeerAccess()
				workers[i].openOrClose()
				back()
			}
		})
		w.finish(workers)
	}
}

// focuses are the methods of a round: all, or those that use the same fields, so that they
// meet more often.
var focuses = [][]string{
	slices.Sorted(maps.Keys(methods)),
	{"Malloc", "Free", "RecordStream"},
	{"RecordHistory", "HistoryEnabled", "Annotate", "Snapshot", "PushCompileContext", "PopCompileContext", "SetUserMetadata", "UserMetadata", "Malloc"},
	{"Enable", "RawAlloc", "RawDelete", "BaseAllocation", "ShareHandle"},
	{"OpenHandle", "OpenHandle", "OpenHandle", "EnablePeerAccess", "EmptyCache", "CopyKind", "Close", "RawAlloc", "RawDelete"},
	{"Configure", "Config", "SetMemoryFraction", "MemoryFraction", "Stats", "Malloc", "Free"},
}

// pages is the round in which calls for pages panic as well.
const pages = 4

// deck has each method as often as its weight says.
func deck(names []string) (calls []func(*worker)) {
	for _, name := range names {
		for range methods[name].weight {
			calls = append(calls, methods[name].call)
		}
	}
	return calls
}
