package memlimit

import (
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestBudget: a budget that the process exceeds says so within 256 calls, and goes on to; one that
// it does not exceed does not, and no budget never does.
func TestBudget(t *testing.T) {
	runtime.GC()
	small, large := New(1), New(0)
	for i := range 256 {
		if err := large.Check(); err != nil {
			t.Fatal(err)
		}
		if err := small.Check(); (err != nil) != (i == 255) {
			t.Fatalf("after %d calls: %v", i+1, err)
		}
	}
	var excess *ExcessError
	if err := small.Check(); !errors.As(err, &excess) || excess.Limit != 1 {
		t.Errorf("after 257 calls: %v", err)
	}
	if got := New(3 << 20); (&ExcessError{got.limit}).Error() != "this needs more than 3145728 bytes (3.00 MiB) of memory, which --max-memory raises" {
		t.Error(&ExcessError{got.limit})
	}
	var none *Budget
	if none.Check() != nil || none.Err() != nil {
		t.Error("no budget is exceeded")
	}
}

// TestCollect: garbage is collected rarely below a size, which is Default unless it is given.
func TestCollect(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for size, want := range map[uint64]int64{0: Default, 3 << 30: 3 << 30} {
		debug.SetGCPercent(100)
		Collect(size)
		if limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100); limit != want || percent != 400 {
			t.Errorf("%d: %d bytes, %d %%", size, limit, percent)
		}
	}
}
