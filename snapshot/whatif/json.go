package whatif

import "encoding/json"

// JSON has the names of torch.cuda.memory_stats where there are such. Sizes are in bytes.

type bytesRange = [2]uint64

// jsonRange is a range whose upper end may be open: null.
type jsonRange struct {
	low, high uint64
	open      bool
}

func (r jsonRange) MarshalJSON() ([]byte, error) {
	if r.open {
		return json.Marshal([]any{r.low, nil})
	}
	return json.Marshal(bytesRange{r.low, r.high})
}

// MarshalJSON writes a prediction. A limit of 0 is none. Of a prediction that cannot be
// made only the settings, and what differs, are meaningful.
func (p *Prediction) MarshalJSON() ([]byte, error) {
	differences := p.Differences
	if differences == nil {
		differences = []string{}
	}
	v := struct {
		Settings       string      `json:"settings"`
		MemoryFraction uint64      `json:"memory_fraction_bytes,omitempty"`
		Limit          uint64      `json:"limit"`
		PeakReserved   uint64      `json:"peak_reserved"`
		Range          jsonRange   `json:"peak_reserved_range"`
		PeakAllocated  uint64      `json:"peak_allocated"`
		Retries        int64       `json:"num_alloc_retries"`
		DeviceAllocs   int64       `json:"num_device_alloc"`
		DeviceFrees    int64       `json:"num_device_free"`
		OOMs           int64       `json:"num_ooms"`
		OOM            bool        `json:"oom"`
		Exact          bool        `json:"exact"`
		Differences    []string    `json:"differences"`
		Recorded       bool        `json:"recorded"`
		SmallestLimit  *bytesRange `json:"smallest_limit,omitempty"`
	}{
		p.Settings, p.Fraction, p.Limit, p.PeakReserved, jsonRange{p.PeakReservedRange.Low, p.PeakReservedRange.High, p.OpenEnd}, p.PeakAllocated,
		p.Retries, p.DeviceAllocs, p.DeviceFrees, p.OOMs, p.FirstOOM != nil, p.Exact(), differences, p.Recorded, nil,
	}
	if p.SmallestLimit != nil && p.SmallestLimit.High > 0 {
		v.SmallestLimit = &bytesRange{p.SmallestLimit.Low, p.SmallestLimit.High}
	}
	return json.Marshal(v)
}

// jsonLimit is the limit that was in force, or that is assumed. bytes is the smallest one
// that it can have been, null if there may have been none.
type jsonLimit struct {
	Kind  LimitKind   `json:"kind"`
	Bytes *uint64     `json:"bytes"`
	Range *bytesRange `json:"range"`
}

type jsonRequest struct {
	Number uint64 `json:"number"` // counting the requests for memory from 1
	Bytes  uint64 `json:"bytes"`
	Stream uint64 `json:"stream"`
	Site   string `json:"site,omitempty"` // the program's line
}

type jsonAdvice struct {
	Settings       string `json:"settings"`
	MemoryFraction any    `json:"memory_fraction"` // null, a number, or an expression where the device's memory is not known
	Export         string `json:"export"`
	Sure           bool   `json:"sure"`
}

type jsonAnswer struct {
	Cause     Cause         `json:"cause"`
	Limit     jsonLimit     `json:"limit"`
	Failing   *jsonRequest  `json:"failing_request"`
	Advice    *jsonAdvice   `json:"advice"`
	Device    int           `json:"device"`
	Certainty Certainty     `json:"certainty"`
	NoEnd     bool          `json:"no_end,omitempty"` // of a recorded trace
	Rows      []*Prediction `json:"rows"`
}

// MarshalJSON writes a comparison as one object; docs/whatif.md has the keys.
func (c *Comparison) MarshalJSON() ([]byte, error) {
	v := jsonAnswer{Cause: c.Cause(), Limit: c.jsonLimit(), Device: int(c.Workload.Device), Certainty: c.Certainty(), NoEnd: c.Workload.NoEnd, Rows: []*Prediction{}}
	for _, p := range c.Ranked() {
		if !p.notAsked {
			v.Rows = append(v.Rows, p)
		}
	}
	if oom := c.Failing(); oom != nil {
		q := &c.Workload.Requests[oom.Request]
		v.Failing = &jsonRequest{uint64(oom.Number), oom.Requested, uint64(q.Stream), site(c.Workload.Entry(q))}
	}
	if p := c.advised(); p != nil {
		v.Advice = &jsonAdvice{Settings: p.Settings, Export: c.Export(), Sure: c.Sure()}
		if total := c.Workload.DeviceMemory; p.Fraction > 0 && total > 0 {
			v.Advice.MemoryFraction = float64(p.Fraction) / float64(total)
		} else if p.Fraction > 0 {
			v.Advice.MemoryFraction = c.fractionText(p.Fraction)
		}
	}
	return json.Marshal(v)
}

func (c *Comparison) jsonLimit() jsonLimit {
	low, high := c.limitRange()
	limit := jsonLimit{Kind: c.Workload.Limit.Kind}
	if c.given {
		limit.Kind = NoLimit
		switch r := c.readings[0]; {
		case r.Fraction > 0:
			limit.Kind = FractionLimit
		case r.Device > 0:
			limit.Kind = DeviceLimit
		}
	}
	if b := c.Workload.Limit; !c.given && b.Refused() { // by every reading
		high = max(high, b.Most)
	}
	if low > 0 {
		limit.Range = &bytesRange{low, high}
		if !c.Workload.likelyEmptied() || c.given {
			limit.Bytes = &low
		}
	}
	return limit
}

// NothingToCompare is the answer for a device without requests.
func NothingToCompare(device int) any {
	return jsonAnswer{Cause: UnknownCause, Limit: jsonLimit{Kind: UnknownLimit}, Device: device, Certainty: CertainUnknown, Rows: []*Prediction{}}
}
