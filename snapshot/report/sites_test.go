package report

import "testing"

// The line of a site is the program's, also if PyTorch's own code is around it.
func TestLineOfSite(t *testing.T) {
	data := Data{Stacks: stacks{
		Frames: []frame{{"other.py", 1, "f"}, {"torch/nn/linear.py", 2, "forward"}, {"train.py", 33, "step"}},
		Stacks: [][]int{{0}, {1, 2}},
		Own:    []int{0, 2},
	}}
	for stack, want := range map[int]string{0: "other.py:1", 1: "train.py:33", noStack: "without a call stack"} {
		if got := data.Line(&Site{Stack: stack}); got != want {
			t.Errorf("stack %d is %s, not %s", stack, got, want)
		}
	}
}
