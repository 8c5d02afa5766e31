package fit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/tools/run"
)

// Options are what to run, on what, and which values to try.
type Options struct {
	Run      run.Options // Command may have {}; GPU is set for each of GPUs
	Variable Variable
	GPUs     []gpus.GPU
	// Tried hears of each run. Stopped reports whether the answer so far is wanted.
	Tried   func(gpus.GPU, Try)
	Stopped func() bool
}

// Answer is what was found on one GPU.
type Answer struct {
	GPU    string `json:"gpu"`
	Memory uint64 `json:"memory"` // bytes
	Name   string `json:"variable,omitempty"`
	Low    int    `json:"low"`
	High   int    `json:"high"`
	// Largest is the largest value that was tried and fits; nil: none does.
	Largest *int `json:"largest"`
	// Sure: the next value does not fit, or is out of range.
	Sure bool `json:"sure"`
	// Exceptions are values that do not fit though a larger one does.
	Exceptions  []int `json:"exceptions,omitempty"`
	Interrupted bool  `json:"interrupted,omitempty"`
	Tries       []Try `json:"tries"` // by value
	// Doubts are what the answer rests on that only a GPU would have told: run.Result.Doubts with the largest value tried.
	Doubts []string `json:"doubts,omitempty"`
}

// Fit searches on one GPU after the other, the smallest first. With an error there are answers only if a run has
// ended: the last of them is that so far.
func Fit(o Options) ([]Answer, error) {
	var answers []Answer
	var points []Try
	byMemory := slices.SortedStableFunc(slices.Values(o.GPUs), func(a, b gpus.GPU) int { return cmp.Compare(a.Memory, b.Memory) })
	for _, gpu := range byMemory {
		memory := cmp.Or(o.Run.Memory, gpu.Memory)
		s := &search{low: o.Variable.Low, high: o.Variable.High, room: memory - min(gpu.Context, memory), points: points}
		s.try = func(value int) (Try, error) { return o.try(gpu, value) }
		err := s.run()
		if err != nil && len(s.tried) == 0 && !errors.Is(err, errInterrupted) {
			return answers, err
		}
		a := s.answer()
		a.GPU, a.Memory, a.Name, a.Interrupted = gpu.Word, memory, o.Variable.Name, errors.Is(err, errInterrupted)
		answers = append(answers, a)
		if a.Interrupted {
			return answers, nil
		}
		if err != nil {
			return answers, err
		}
		points = s.points
	}
	return answers, nil
}

// answer is what is known so far.
func (s *search) answer() Answer {
	a := Answer{Low: s.low, High: s.high}
	for _, value := range slices.Sorted(maps.Keys(s.tried)) {
		a.Tries = append(a.Tries, s.tried[value])
		if ran := s.tried[value].ran; ran != nil {
			a.Doubts = ran.Doubts()
		}
	}
	largest := s.largest()
	if largest >= s.low {
		a.Largest = &largest
	}
	_, known := s.tried[largest+1]
	a.Sure = known || largest == s.high
	for _, t := range a.Tries {
		if !t.Fits && t.Value < largest {
			a.Exceptions = append(a.Exceptions, t.Value)
		}
	}
	return a
}

// try runs the program once.
func (o *Options) try(gpu gpus.GPU, value int) (Try, error) {
	if o.Stopped() {
		return Try{}, errInterrupted
	}
	folder, err := os.MkdirTemp("", "gaugeblock-fit-")
	if err != nil {
		return Try{}, err
	}
	defer os.RemoveAll(folder)
	one := o.Run
	if one.Command, err = o.Variable.Command(o.Run.Command, value); err != nil {
		return Try{}, err
	}
	if err := o.Variable.set(value); err != nil {
		return Try{}, err
	}
	tail := &tail{}
	one.GPU = gpu
	if one.Output == nil {
		one.Output = tail
	}
	result, err := run.Run(one, folder)
	switch {
	case err != nil:
		return Try{}, err
	case result.Interrupted || o.Stopped():
		return Try{}, errInterrupted
	}
	t, err := tryOf(result, value)
	if err != nil {
		return t, fmt.Errorf("with the value %d on %s: %w%s", value, gpu.Word, err, tail)
	}
	o.Tried(gpu, t)
	return t, nil
}

// tryOf says whether a run fits. An error is that the program failed for another reason.
func tryOf(r *run.Result, value int) (Try, error) {
	t := Try{Value: value, Seconds: r.Seconds, ran: r}
	_, device := r.Worst()
	if device != nil {
		t.PeakReserved, t.PeakAllocated = device.PeakReserved, device.PeakAllocated
	}
	switch failed := r.EndedWithoutMemory(); {
	case failed != nil:
		t.At, t.InPieces, t.Asked = failed.At, failed.InPieces(), failed.Asked
		return t, nil
	case r.Status != 0:
		return t, fmt.Errorf("the program ended with %d, and not for want of memory", r.Status)
	}
	for _, p := range r.Processes {
		t.Failed += len(p.OOMs)
	}
	if device == nil && t.Failed == 0 {
		return t, errors.New("the program has allocated no memory of a GPU")
	}
	t.Fits = true
	return t, nil
}
