package report

// Data is all that the page shows. Sizes are in bytes, times in microseconds since the
// history begins, addresses hexadecimal text.
type Data struct {
	Source  string   `json:"source"` // the snapshot's file name
	Device  int      `json:"device"`
	Facts   Facts    `json:"facts"`
	Curve   Curve    `json:"curve"`
	Failed  []Failed `json:"failed"` // requests that got no memory, the first ones
	Moments []Moment `json:"moments"`
	Sizes   []Bin    `json:"sizes"`
	Stacks  stacks   `json:"stacks"`
	WhatIf  *WhatIf  `json:"whatif"` // nil: not tried
	Notes   []string `json:"notes"`
}

// Facts are single figures.
type Facts struct {
	Settings      string `json:"settings"` // PYTORCH_ALLOC_CONF
	Entries       int    `json:"entries"`  // of the history
	Whole         bool   `json:"whole"`    // it begins with the program's first request
	Micros        int64  `json:"micros"`   // how long it is; 0: not known
	Requests      int    `json:"requests"`
	Failed        int    `json:"failed"`
	PeakAllocated uint64 `json:"peakAllocated"`
	PeakReserved  uint64 `json:"peakReserved"`
	Obtained      uint64 `json:"obtained"` // from the driver, over the whole history
	Returned      uint64 `json:"returned"`
}

// Failed is a request that failed.
type Failed struct {
	Entry  int    `json:"entry"`
	Micros int64  `json:"micros"`
	Bytes  uint64 `json:"bytes"`
	Stack  int    `json:"stack"`
}

// WhatIf is what came of trying other settings.
type WhatIf struct {
	Limit  uint64 `json:"limit"` // 0: none
	Rows   []Row  `json:"rows"`  // the best first
	Advice string `json:"advice"`
	Export string `json:"export"` // a line for a shell, may be empty
}

// Row is what came of one of the settings.
type Row struct {
	Settings      string    `json:"settings"`
	PeakReserved  [2]uint64 `json:"peakReserved"` // lowest and highest guess
	PeakAllocated uint64    `json:"peakAllocated"`
	Fragmentation float64   `json:"fragmentation"` // 0 to 1
	Retries       int64     `json:"retries"`
	DriverCalls   int64     `json:"driverCalls"`
	Failed        int64     `json:"failed"` // the request at which it first ran out of memory, from 1; 0: none
	Exact         bool      `json:"exact"`
	Recorded      bool      `json:"recorded"` // these are the settings of the recorded run
	Chosen        bool      `json:"chosen"`   // these the advice is about
}
