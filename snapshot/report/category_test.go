package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// Call stacks of the phases of a program.
var (
	inLoading   = &snapshot.Context{Frames: snapshot.Frames{{Filename: "torch/nn/modules/module.py", Line: 1370, Name: "convert"}, {Filename: "train.py", Line: 1, Name: "main"}}}
	inForward   = &snapshot.Context{Frames: snapshot.Frames{{Filename: "torch/nn/modules/linear.py", Line: 134, Name: "forward"}, {Filename: "train.py", Line: 2, Name: "main"}}}
	inBackward  = &snapshot.Context{}
	inOptimizer = &snapshot.Context{Frames: snapshot.Frames{{Filename: "torch/optim/adam.py", Line: 182, Name: "_init_group"}, {Filename: "train.py", Line: 4, Name: "main"}}}
	inProgram   = &snapshot.Context{Frames: snapshot.Frames{{Filename: "train.py", Line: 5, Name: "main"}}}
)

// madeHistory is made step by step. Each allocation has an address of its own.
type madeHistory struct{ trace []snapshot.TraceEntry }

func (h *madeHistory) add(action spec.Action, at spec.Ptr, context *snapshot.Context) {
	h.trace = append(h.trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: action, Addr: at, Size: 512}, Context: context})
}

func (h *madeHistory) malloc(at spec.Ptr, context *snapshot.Context) {
	h.add(spec.ActionAlloc, at, context)
}

func (h *madeHistory) free(at spec.Ptr) {
	h.add(spec.ActionFreeRequested, at, inBackward)
	h.add(spec.ActionFreeCompleted, at, inBackward)
}

// TestClassify: two training steps. What memory is for follows from the phase in which it
// was allocated, and whether it was still allocated when the next one began.
func TestClassify(t *testing.T) {
	h := &madeHistory{}
	want := map[int]category{}
	malloc := func(at spec.Ptr, context *snapshot.Context, is category) {
		want[len(h.trace)] = is
		h.malloc(at, context)
	}
	malloc(1, inLoading, parameters)
	malloc(2, inProgram, uncategorized)
	for step := range spec.Ptr(2) {
		base := 100 * (step + 1)
		malloc(base+1, inForward, activations)
		malloc(base+2, inForward, temporaries)
		h.free(base + 2)
		malloc(base+3, inBackward, gradients)
		malloc(base+4, inBackward, temporaries)
		h.free(base + 1) // the activation
		h.free(base + 4)
		if step == 0 {
			malloc(base+5, inOptimizer, optimizerState)
		}
		malloc(base+6, inOptimizer, temporaries)
		h.free(base + 6)
		h.free(base + 3) // zero_grad
	}
	malloc(300, inForward, activations) // the history ends here
	got := classify(h.trace)
	for entry, is := range want {
		if got[entry] != is {
			t.Errorf("entry %d is %s, want %s", entry, categoryTexts[got[entry]][0], categoryTexts[is][0])
		}
	}
}

// TestClassifyShortStacks: a call stack of one frame is one.
func TestClassifyShortStacks(t *testing.T) {
	h := &madeHistory{}
	h.malloc(1, &snapshot.Context{Frames: snapshot.Frames{{Filename: "torch/optim/adam.py", Name: "step"}}})
	if got := classify(h.trace); len(got) != 1 || got[0] != optimizerState {
		t.Errorf("%v", got)
	}
}

// TestClassifyWithoutStacks: nothing is guessed of a history without call stacks.
func TestClassifyWithoutStacks(t *testing.T) {
	h := &madeHistory{}
	h.malloc(1, inBackward)
	h.free(1)
	if got := classify(h.trace); got != nil {
		t.Errorf("%v", got)
	}
}

func TestPhaseOf(t *testing.T) {
	frame := func(file, name string) *snapshot.Frame { return &snapshot.Frame{Filename: file, Name: name} }
	for _, test := range []struct {
		name   string
		frames snapshot.Frames
		want   phase
	}{
		{"the autograd thread", nil, backward},
		{"C++ frames of the autograd engine", snapshot.Frames{frame("engine.cpp", "torch::autograd::Engine::evaluate_function")}, backward},
		{"recomputed in the backward pass", snapshot.Frames{frame("torch/nn/modules/linear.py", "forward"), frame("torch/utils/checkpoint.py", "backward")}, backward},
		{"a module that is called", snapshot.Frames{frame("torch/nn/modules/linear.py", "forward"), frame("train.py", "main")}, forward},
		{"a module that is made", snapshot.Frames{frame("torch/nn/modules/linear.py", "__init__"), frame("train.py", "main")}, loading},
		{"a model that is loaded", snapshot.Frames{frame("x.py", "f"), frame("transformers/modeling_utils.py", "from_pretrained")}, loading},
		{"an optimizer", snapshot.Frames{frame("torch/optim/sgd.py", "step"), frame("train.py", "main")}, optimizing},
		{"a program in a folder optim", snapshot.Frames{frame("/home/me/optim/train.py", "main")}, otherPhase},
	} {
		if got := phaseOf(test.frames); got != test.want {
			t.Errorf("%s: phase %d, want %d", test.name, got, test.want)
		}
	}
}

// TestCategoriesOfRun: in a recorded run of training with AdamW, whose parameters take
// 310 MiB, so do the gradients after each step, and the optimizer has twice as much.
func TestCategoriesOfRun(t *testing.T) {
	var sizes []string
	for _, file := range recordedRuns(t) {
		data := buildRun(t, file)
		if len(data.Categories) == 0 {
			continue
		}
		parameterBytes := data.Categories[parameters].Max
		state := data.Categories[optimizerState].Max
		if parameterBytes == 0 || state < 2*parameterBytes || state > 2*parameterBytes+parameterBytes/50 {
			t.Errorf("%s: parameters of %d bytes, optimizer state of %d", file, parameterBytes, state)
		}
		if g := data.Categories[gradients].Max; g < parameterBytes || g > parameterBytes+parameterBytes/5 {
			t.Errorf("%s: parameters of %d bytes, gradients of %d", file, parameterBytes, g)
		}
		sizes = append(sizes, file)
	}
	t.Logf("with call stacks: %q", sizes)
}

// TestSeriesAddUp: at each bucket's maximum what the sites hold is what is allocated, and so
// is what the categories hold.
func TestSeriesAddUp(t *testing.T) {
	for _, file := range recordedRuns(t) {
		data := buildRun(t, file)
		if data.MoreSites > 0 || len(data.Sites) > maxSeries {
			continue // the others are not on the page
		}
		sums := make([]uint64, len(data.Timeline.AllocatedMax))
		for _, s := range data.Sites {
			addSeries(sums, s.Deltas)
		}
		if diff := cmp.Diff(data.Timeline.AllocatedMax, sums); diff != "" {
			t.Errorf("%s: (-allocated +sites):\n%s", file, diff)
		}
		var end, peak Holding
		for _, s := range data.Sites {
			end.add(s.End)
			peak.add(s.Peak)
		}
		if end[0] != data.layout("end").Allocated || peak[0] != data.Summary.PeakAllocated {
			t.Errorf("%s: sites hold %d at the end and %d at the peak", file, end[0], peak[0])
		}
		if len(data.Categories) == 0 {
			continue
		}
		clear(sums)
		for _, c := range data.Categories {
			addSeries(sums, c.Deltas)
		}
		if diff := cmp.Diff(data.Timeline.AllocatedMax, sums); diff != "" {
			t.Errorf("%s: (-allocated +categories):\n%s", file, diff)
		}
	}
}

func addSeries(sums []uint64, deltas []int64) {
	now := int64(0)
	for i, d := range deltas {
		now += d
		sums[i] += uint64(now)
	}
}

// TestSitesOfStart: what was allocated before the history is of its call stack's site, or of one
// site; without a history blocks without a stack are of the site of their size.
func TestSitesOfStart(t *testing.T) {
	frames := func(file, name string) snapshot.Frames { return snapshot.Frames{{Filename: file, Name: name}} }
	linear, sgd, other := frames("torch/nn/modules/linear.py", "__init__"), frames("torch/optim/sgd.py", "step"), frames("train.py", "main")
	for _, test := range []struct {
		what      string
		history   bool
		frames    snapshot.Frames
		requested uint64
		want      siteKey
	}{
		{"a model that is made", true, linear, 512, siteKey{frame: *linear[0], category: parameters}},
		{"an optimizer", true, sgd, 512, siteKey{frame: *sgd[0], category: optimizerState}},
		{"another place", false, other, 512, siteKey{frame: *other[0]}},
		{"before the history", true, nil, 512, siteKey{start: true}},
		{"no history", false, nil, 5000, siteKey{size: 4096}},
	} {
		table := newSiteTable(nil)
		table.history = test.history
		if at := table.ofStart(test.frames, test.requested); at != 0 || table.list[0].siteKey != test.want {
			t.Errorf("%s: site %d, %+v", test.what, at, table.list)
		}
	}
	if at := (*siteTable)(nil).ofStart(other, 512); at != -1 {
		t.Errorf("nothing is counted, and the site is %d", at)
	}
}
