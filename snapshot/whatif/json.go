package whatif

// Result is a row as programs read it: torch.cuda.memory_stats' words, sizes in bytes.
type Result struct {
	Settings      string    `json:"settings"`
	Limit         uint64    `json:"limit"` // 0: none
	PeakReserved  uint64    `json:"peak_reserved"`
	Range         [2]uint64 `json:"peak_reserved_range"`
	PeakAllocated uint64    `json:"peak_allocated"`
	Retries       int64     `json:"num_alloc_retries"`
	DeviceAllocs  int64     `json:"num_device_alloc"`
	DeviceFrees   int64     `json:"num_device_free"`
	OOMs          int64     `json:"num_ooms"`
	OOM           bool      `json:"oom"`
	Exact         bool      `json:"exact"`
	// Smallest is the smallest limit that is survived, if it was looked for.
	Smallest *[2]uint64 `json:"smallest_limit,omitempty"`
}

// Results are the rows, the best first.
func (s *Study) Results() []Result {
	results := make([]Result, 0, len(s.Rows))
	for _, r := range s.Best() {
		result := Result{
			Settings: r.Settings, Limit: r.Limit,
			PeakReserved: r.PeakReserved, Range: [2]uint64{r.Range.Low, r.Range.High}, PeakAllocated: r.PeakAllocated,
			Retries: r.Retries, DeviceAllocs: r.DeviceAllocs, DeviceFrees: r.DeviceFrees, OOMs: r.OOMs,
			OOM: r.First != nil, Exact: r.Exact(),
		}
		if r.Smallest != nil {
			result.Smallest = &[2]uint64{r.Smallest.Low, r.Smallest.High}
		}
		results = append(results, result)
	}
	return results
}
