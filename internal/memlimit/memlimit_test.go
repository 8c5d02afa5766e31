package memlimit

import (
	"errors"
	"runtime"
	"testing"
)

// TestBudget: a budget that the process exceeds says so within 256 calls, and goes on to; one that
// it does not exceed does not, and no budget never does.
func TestBudget(t *testing.T) {
	runtime.GC()
	small, large := New(1), New(0)
	for range 256 {
		if err := large.Check(); err != nil {
			t.Fatal(err)
		}
		_ = small.Check()
	}
	var excess *ExcessError
	if err := small.Check(); !errors.As(err, &excess) || excess.Limit != 1 {
		t.Errorf("after 257 calls: %v", err)
	}
	var none *Budget
	if none.Check() != nil || none.Err() != nil {
		t.Error("no budget is exceeded")
	}
}
