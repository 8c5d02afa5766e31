package report

import "gaugeblock/internal/brief"

// Page is everything that a page shows: a report of each device of a snapshot, of each of
// two snapshots, or of ranks of a run.
type Page struct {
	Source     string      `json:"source"` // the names of the files
	Reports    []*Data     `json:"reports"`
	Shown      int         `json:"shown"`      // index of the report that is shown first
	Compared   *Compared   `json:"compared"`   // two snapshots; else nil
	Ranks      *Ranks      `json:"ranks"`      // the ranks of a run; else nil
	Iterations *Iterations `json:"iterations"` // a run over time; else nil
	Notes      []string    `json:"notes"`
}

// Data is a report of one device. Sizes are in bytes, times in microseconds since the
// start of the history, addresses hexadecimal text.
type Data struct {
	Title       string       `json:"title"` // in the list of reports
	Device      int          `json:"device"`
	Brief       *brief.Lines `json:"brief"`   // what happened, the cause, what to try; nil without a prediction
	Verdict     string       `json:"verdict"` // the same with the reasons; "" without a prediction
	Summary     Summary      `json:"summary"`
	Timeline    Timeline     `json:"timeline"`
	Allocations Allocations  `json:"allocations"`
	// SegmentsOverTime are segments, or parts of expandable ones, as if they were allocations.
	SegmentsOverTime Allocations   `json:"segmentsOverTime"`
	Host             *Host         `json:"host"`  // pinned host memory; nil: it was not recorded
	Sites            []Site        `json:"sites"` // who holds the memory, the most held at one time first
	MoreSites        int           `json:"moreSites"`
	Categories       []Category    `json:"categories"`    // none if no call stacks were recorded
	OwnCategories    bool          `json:"ownCategories"` // by the user\'s patterns; otherwise they are a guess
	Annotations      Annotations   `json:"annotations"`
	Labels           []Label       `json:"labels"` // user metadata
	Statistics       []Statistic   `json:"statistics"`
	OOMs             []OutOfMemory `json:"ooms"`    // requests that failed, the first ones
	Layouts          []Layout      `json:"layouts"` // in order of time
	States           States        `json:"states"`
	Sizes            []SizeBin     `json:"sizes"`
	Stacks           stacks        `json:"stacks"`
	WhatIf           *WhatIf       `json:"whatif"` // nil: no prediction was made
	Notes            []string      `json:"notes"`

	packed        *packedStates // instead of States
	totals        []siteTotals  // of all sites
	categoryTexts [][2]string   // nil: those of the guess
}

// categoryName is the name of a category.
func (d *Data) categoryName(c category) string {
	if d.categoryTexts == nil {
		return categoryTexts[c][0]
	}
	return d.categoryTexts[c][0]
}

// layout is the layout of a name, nil if there is none. There is always one at the "end".
func (d *Data) layout(name string) *Layout {
	for i := range d.Layouts {
		if m := &d.Layouts[i]; m.Name == name {
			return m
		}
	}
	return nil
}

// Summary is the statistics of the whole history.
type Summary struct {
	Settings          string `json:"settings"`   // PYTORCH_ALLOC_CONF
	Entries           int    `json:"entries"`    // of the history
	Complete          bool   `json:"complete"`   // it begins with the program's first request
	DurationUS        int64  `json:"durationUS"` // 0: not known
	Requests          int    `json:"requests"`
	OOMs              int    `json:"ooms"`
	PeakAllocated     uint64 `json:"peakAllocated"`
	PeakReserved      uint64 `json:"peakReserved"`
	ReservedAllocated uint64 `json:"reservedAllocated"` // sum of all segments
	ReservedFreed     uint64 `json:"reservedFreed"`     // sum of the freed ones
}

// OutOfMemory is a request that failed.
type OutOfMemory struct {
	Entry     int    `json:"entry"`
	TimeUS    int64  `json:"timeUS"`
	Requested uint64 `json:"requested"`
	Stack     int    `json:"stack"`
}

// WhatIf is the predictions for other settings.
type WhatIf struct {
	Cause       string       `json:"cause"`       // a compare.Cause
	Limit       uint64       `json:"limit"`       // 0: none
	LimitNote   string       `json:"limitNote"`   // the limit in words: a range where the record leaves it open
	AskLimit    string       `json:"askLimit"`    // a question, if the limit matters and is not known; the user may have it
	Predictions []Prediction `json:"predictions"` // the best first
	Details     string       `json:"details"`     // what the verdict leaves out
	Export      string       `json:"export"`      // a shell command; may be empty
}

// Prediction is the prediction for one value of the settings.
type Prediction struct {
	Settings      string    `json:"settings"`
	Fraction      uint64    `json:"fraction"`     // a memory fraction to be set with them, in bytes; 0: none
	PeakReserved  [2]uint64 `json:"peakReserved"` // lowest and highest
	OpenEnd       bool      `json:"openEnd"`      // or more
	DependsOn     bool      `json:"dependsOn"`    // the limit, which is not known, decides whether a request fails
	PeakAllocated uint64    `json:"peakAllocated"`
	Unallocated   float64   `json:"unallocated"` // share of the peak reserved, 0 to 1
	AllocRetries  int64     `json:"allocRetries"`
	DeviceCalls   int64     `json:"deviceCalls"` // num_device_alloc and num_device_free
	OOMRequest    int64     `json:"oomRequest"`  // number of the first request that fails, from 1; 0: none
	OutOfMemory   string    `json:"outOfMemory"` // in words; "no" if no request fails
	Exact         bool      `json:"exact"`
	Differences   []string  `json:"differences"` // why it is not exact
	Error         string    `json:"error"`       // why there is no prediction; "" if there is one
	Recorded      bool      `json:"recorded"`    // the settings of the recorded run
	Recommended   bool      `json:"recommended"`
	Important     bool      `json:"important"` // one of the few that are shown at first
}
