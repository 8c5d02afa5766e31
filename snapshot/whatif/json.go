package whatif

import "encoding/json"

// MarshalJSON writes a prediction with the names of torch.cuda.memory_stats. Sizes are in
// bytes, a limit of 0 is none.
func (p *Prediction) MarshalJSON() ([]byte, error) {
	type bytesRange = [2]uint64
	v := struct {
		Settings      string      `json:"settings"`
		Limit         uint64      `json:"limit"`
		PeakReserved  uint64      `json:"peak_reserved"`
		Range         bytesRange  `json:"peak_reserved_range"`
		PeakAllocated uint64      `json:"peak_allocated"`
		Retries       int64       `json:"num_alloc_retries"`
		DeviceAllocs  int64       `json:"num_device_alloc"`
		DeviceFrees   int64       `json:"num_device_free"`
		OOMs          int64       `json:"num_ooms"`
		OOM           bool        `json:"oom"`
		Exact         bool        `json:"exact"`
		SmallestLimit *bytesRange `json:"smallest_limit,omitempty"`
	}{
		p.Settings, p.Limit, p.PeakReserved, bytesRange{p.PeakReservedRange.Low, p.PeakReservedRange.High}, p.PeakAllocated,
		p.Retries, p.DeviceAllocs, p.DeviceFrees, p.OOMs, p.FirstOOM != nil, p.Exact(), nil,
	}
	if p.SmallestLimit != nil {
		v.SmallestLimit = &bytesRange{p.SmallestLimit.Low, p.SmallestLimit.High}
	}
	return json.Marshal(v)
}
