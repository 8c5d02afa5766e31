package compare

import (
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize/english"

	"gaugeblock/conformance/perform"
	"gaugeblock/internal/memlimit"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// Comparison is what several allocators made of the requests of one program.
type Comparison struct {
	Requests  int    `json:"requests"`       // for memory
	Requested uint64 `json:"peak_requested"` // bytes, with requests that failed in the recorded run: to serve all takes no less
	Limit     uint64 `json:"limit"`          // bytes; 0: none
	// Notes are what the comparison leaves out of the record.
	Notes   []string `json:"notes"`
	Results []Result `json:"results"`
}

// Compare makes the requests of a workload of each candidate in turn. progress, if there is one,
// hears how many are done.
func Compare(w *history.Workload, candidates []Candidate, o Options, progress func(done int)) (*Comparison, error) {
	requested := w.PeakAsked()
	if requested >= unlimited/2 {
		return nil, fmt.Errorf("the program requests %s at one time, and a fake GPU has %s", spec.FormatSize(requested), spec.FormatSize(unlimited))
	}
	c := &Comparison{Requests: w.Mallocs, Requested: requested, Limit: o.Limit, Notes: notes(w)}
	for i := range candidates {
		r, err := candidates[i].run(w, &o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", candidates[i].Name, err)
		}
		c.Results = append(c.Results, r)
		if progress != nil {
			progress(i + 1)
		}
	}
	return c, nil
}

// run makes the requests of one candidate, and looks for its smallest limit if that is asked for.
func (c *Candidate) run(w *history.Workload, o *Options) (r Result, err error) {
	if c.pytorch {
		memory := memlimit.New(math.MaxInt64)
		began := time.Now()
		r, err = c.performPyTorch(w, o.Limit, memory)
		o.time(&r, len(w.Requests), began)
		if err == nil && o.SmallestLimit {
			r.SmallestLimit, err = c.smallestLimitOfPyTorch(w, memory)
		}
		return r, err
	}
	subject, err := c.open(o.Directory, o.Patience)
	if err != nil {
		return r, err
	}
	defer subject.Close()
	return o.measure(w, subject.New, c.Name)
}

// measure makes the requests of an allocator that is known by its interface only, and looks for its smallest limit if
// that is asked for.
func (o *Options) measure(w *history.Workload, factory perform.Factory, name string) (Result, error) {
	began := time.Now()
	r, err := requests(w, factory, name, o.Limit, false)
	o.time(&r, len(w.Requests), began)
	if err != nil || !o.SmallestLimit || r.Error != "" {
		return r, err
	}
	most := r.Most
	if r.Failed > 0 {
		free, err := requests(w, factory, name, 0, false)
		if err != nil {
			return r, err
		}
		most = free.Most
	}
	r.SmallestLimit, err = smallestLimit(w, factory, name, most)
	return r, err
}

// notes are what a comparison leaves out of a record.
func notes(w *history.Workload) (list []string) {
	if len(w.PrivatePools) > 0 {
		list = append(list, "The program has private pools, as CUDA graphs do. Only the rows of pytorch have them: the other allocators serve these requests with the rest.")
	}
	if w.Unrecorded.PendingFrees > 0 {
		list = append(list, fmt.Sprintf("%s waited for work of another stream. The rows of pytorch complete that as recorded, and the others at once.", english.Plural(w.Unrecorded.PendingFrees, "free", "")))
	}
	if !w.Complete() {
		list = append(list, "The history begins late. What the program had then is allocated anew in order of address, but in the rows of pytorch it has the recorded layout.")
	}
	return list
}
