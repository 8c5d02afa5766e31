package run

import (
	"slices"
	"strings"
)

// Result is what the program did.
type Result struct {
	GPU         string   `json:"gpu"`
	Memory      uint64   `json:"memory"` // bytes of each GPU
	Status      int      `json:"status"` // the program's exit status
	Interrupted bool     `json:"interrupted,omitempty"`
	Seconds     float64  `json:"seconds"`
	Assume      string   `json:"assume,omitempty"` // Options.Assume
	Processes   []Answer `json:"processes"`
	Lacking     []string `json:"lacking,omitempty"` // functions that were asked for and are not there
	// Unanswered are the processes that used a GPU and did not end with an answer: they were killed, or go on.
	Unanswered []int `json:"unanswered,omitempty"`
	// Settings is what was found out about other settings after a failure: that of the caller, who
	// has compared them; nil: nothing.
	Settings *OtherSettings `json:"other_settings,omitempty"`

	unread string // why no Python has read PYTHONPATH, if none has
}

// Worst is the process and the device on which most was reserved; nil if no process used a GPU.
func (r *Result) Worst() (*Answer, *Device) {
	var worst *Answer
	var on *Device
	for i := range r.Processes {
		for j := range r.Processes[i].Devices {
			if d := &r.Processes[i].Devices[j]; on == nil || d.PeakReserved > on.PeakReserved {
				worst, on = &r.Processes[i], d
			}
		}
	}
	return worst, on
}

// Failure is the request that ended a process for want of memory, or else the last one that failed
// in the process that reserved most, from which the program went on. It is nil if there was none.
func (r *Result) Failure() (failed *OutOfMemory, ended bool) {
	for i := range r.Processes {
		if p := &r.Processes[i]; p.endedByOutOfMemory() && len(p.OOMs) > 0 {
			return &p.OOMs[len(p.OOMs)-1], true
		}
	}
	for i := range r.Processes {
		if p := &r.Processes[i]; len(p.OOMs) > 0 {
			return &p.OOMs[len(p.OOMs)-1], false
		}
	}
	return nil, false
}

// OtherSettings is whether other settings of the allocator would have served the request that failed.
type OtherSettings struct {
	Advised string `json:"advised"` // the settings that would; "": none is known to
	Sure    bool   `json:"sure"`    // of the advice, or that none would
	// NoStacks: the history has no call stacks, with which more can be told.
	NoStacks bool `json:"-"`
}

// Failed is the process, and the request, that Failure tells of; nil if there is none.
func (r *Result) Failed() (*Answer, *OutOfMemory) {
	f, _ := r.Failure()
	for i := range r.Processes {
		if p := &r.Processes[i]; len(p.OOMs) > 0 && f == &p.OOMs[len(p.OOMs)-1] {
			return p, f
		}
	}
	return nil, nil
}

// Summary is a result with what follows from it.
type Summary struct {
	PeakReserved  uint64       `json:"peak_reserved"` // bytes, of the process and GPU that reserved most
	PeakAllocated uint64       `json:"peak_allocated"`
	OutOfMemory   *OutOfMemory `json:"out_of_memory,omitempty"` // that ended the program
	Told          string       `json:"told"`                    // the lines for people
}

// Summarize says what follows from a result.
func (r *Result) Summarize() Summary {
	var told strings.Builder
	r.Tell(&told, nil)
	s := Summary{Told: told.String(), OutOfMemory: r.EndedWithoutMemory()}
	if _, device := r.Worst(); device != nil {
		s.PeakReserved, s.PeakAllocated = device.PeakReserved, device.PeakAllocated
	}
	return s
}

// EndedWithoutMemory is the request for want of whose memory the program failed: by an exception, or
// by its own decision. It is nil if the program ended well or for another reason.
func (r *Result) EndedWithoutMemory() *OutOfMemory {
	failed, ended := r.Failure()
	raised := slices.ContainsFunc(r.Processes, func(a Answer) bool { return a.Uncaught != "" })
	if r.Status == 0 || !ended && raised {
		return nil
	}
	return failed
}

func (a *Answer) endedByOutOfMemory() bool {
	last := len(a.OOMs) - 1
	return a.Uncaught == "torch.OutOfMemoryError" || a.Uncaught == "torch.cuda.OutOfMemoryError" || last >= 0 && a.OOMs[last].By != ""
}
