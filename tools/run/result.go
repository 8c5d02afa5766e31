package run

import "slices"

// Result is what the program did.
type Result struct {
	GPU         string   `json:"gpu"`
	Memory      uint64   `json:"memory"` // bytes of each GPU
	Status      int      `json:"status"` // the program's exit status
	Interrupted bool     `json:"interrupted,omitempty"`
	Seconds     float64  `json:"seconds"`
	Processes   []Answer `json:"processes"`
	Lacking     []string `json:"lacking,omitempty"` // functions that were asked for and are not there
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

// Raised reports whether a process ended with an exception that nobody caught.
func (r *Result) Raised() bool {
	return slices.ContainsFunc(r.Processes, func(a Answer) bool { return a.Uncaught != "" })
}

func (a *Answer) endedByOutOfMemory() bool {
	return a.Uncaught == "torch.OutOfMemoryError" || a.Uncaught == "torch.cuda.OutOfMemoryError"
}
