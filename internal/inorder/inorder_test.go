package inorder_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/internal/inorder"
)

// TestInOrder: results come in the order of the items although the work on each
// but the last of its group waits for that on the next.
func TestInOrder(t *testing.T) {
	const workers, items = 4, 40
	var numbers []int
	ready := make([]chan struct{}, items)
	for i := range ready {
		numbers = append(numbers, i)
		ready[i] = make(chan struct{})
	}
	var running, most atomic.Int32
	work := func(i int) int {
		now := running.Add(1)
		for {
			seen := most.Load()
			if now <= seen || most.CompareAndSwap(seen, now) {
				break
			}
		}
		if i%workers != workers-1 {
			<-ready[i+1]
		}
		running.Add(-1)
		close(ready[i])
		return i
	}
	var got []int
	inorder.Each(numbers, workers, work, func(i int) { got = append(got, i) })
	if diff := cmp.Diff(numbers, got); diff != "" {
		t.Error(diff)
	}
	if most.Load() > workers {
		t.Errorf("%d at a time, with %d workers", most.Load(), workers)
	}
}

// TestInOrderAlone: one worker, and no item at all.
func TestInOrderAlone(t *testing.T) {
	for _, workers := range []int{-1, 0, 1} {
		var got []int
		running := false
		work := func(i int) int {
			if running {
				t.Error("two at a time")
			}
			running = true
			defer func() { running = false }()
			return i * i
		}
		inorder.Each([]int{1, 2, 3}, workers, work, func(i int) { got = append(got, i) })
		inorder.Each(nil, workers, work, func(int) { t.Error("a result of nothing") })
		if diff := cmp.Diff([]int{1, 4, 9}, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestInOrderOfMany: a number of workers that no machine has costs nothing.
func TestInOrderOfMany(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var got []int
	inorder.Each([]int{1, 2, 3}, 2_000_000_000, func(i int) int { return i }, func(i int) { got = append(got, i) })
	if diff := cmp.Diff([]int{1, 2, 3}, got); diff != "" {
		t.Error(diff)
	}
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1<<20 {
		t.Errorf("%d bytes were allocated", bytes)
	}
}

// TestInOrderAhead: while a result is handed over, as many others are worked on as there may be, and no more.
func TestInOrderAhead(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			var started atomic.Int32
			items, got := make([]int, 9), 0
			inorder.Each(items, workers, func(int) int { started.Add(1); return 0 }, func(int) {
				got++
				synctest.Wait()
				if want := min(len(items), got+workers-1); int(started.Load()) != want {
					t.Errorf("%d workers have begun %d at the result %d, not %d", workers, started.Load(), got, want)
				}
			})
		})
	}
}
