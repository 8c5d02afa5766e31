package tell

import (
	"encoding/json"

	"gaugeblock/internal/brief"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
)

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

// row is a prediction as JSON. A limit of 0 is none. Of a prediction that cannot be made
// only the settings, and what differs, are meaningful.
func (c Answer) row(p *compare.Prediction) any {
	differences := c.Differences(p)
	if differences == nil {
		differences = []string{}
	}
	f := p.Figures()
	v := struct {
		Settings       string      `json:"settings"`
		MemoryFraction uint64      `json:"memory_fraction_bytes,omitempty"`
		Release        string      `json:"release,omitempty"` // of PyTorch, if it is not the record's
		Limit          uint64      `json:"limit"`
		PeakReserved   uint64      `json:"peak_reserved"`
		Range          jsonRange   `json:"peak_reserved_range"`
		PeakAllocated  uint64      `json:"peak_allocated"`
		Retries        int64       `json:"num_alloc_retries"`
		DeviceAllocs   int64       `json:"num_device_alloc"`
		DeviceFrees    int64       `json:"num_device_free"`
		OOMs           int64       `json:"num_ooms"`
		OOM            *bool       `json:"oom"` // null: in some runs
		Exact          bool        `json:"exact"`
		Differences    []string    `json:"differences"`
		Recorded       bool        `json:"recorded"`
		SmallestLimit  *bytesRange `json:"smallest_limit,omitempty"`
	}{
		p.Settings.Text, p.Fraction, p.Release, c.Limit, f.PeakReserved, jsonRange{f.Reserved.Low, f.Reserved.High, f.Open}, f.PeakAllocated,
		f.Retries, f.DeviceAllocs, f.DeviceFrees, f.OOMs, nil, p.Exact(), differences, p.Recorded, nil,
	}
	if fails, known := p.Fails(); known {
		v.OOM = &fails
	}
	if p.SmallestLimit != nil && p.SmallestLimit.High > 0 {
		v.SmallestLimit = &bytesRange{p.SmallestLimit.Low, p.SmallestLimit.High}
	}
	return v
}

// jsonLimit is the limit that was in force, or that is assumed. bytes is the smallest one
// that it can have been, null if there may have been none.
type jsonLimit struct {
	Kind  history.LimitKind `json:"kind"`
	Bytes *uint64           `json:"bytes"`
	Range *bytesRange       `json:"range"`
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
	Brief     *brief.Lines     `json:"brief"` // what happened, the cause, what to try; null for a device without requests
	Cause     compare.Cause    `json:"cause"`
	Limit     jsonLimit        `json:"limit"`
	Failing   *jsonRequest     `json:"failing_request"`
	Outside   *jsonOutside     `json:"outside"` // of the allocator, when the request failed in the recorded run; null: not recorded
	Advice    *jsonAdvice      `json:"advice"`
	Release   string           `json:"release"` // of PyTorch, whose rules are followed
	Device    int              `json:"device"`
	Certainty string           `json:"certainty"`        // exact, range or unknown: how far the statistics are known
	Sureness  compare.Sureness `json:"sureness"`         // of the verdict
	NoEnd     bool             `json:"no_end,omitempty"` // of a recorded trace
	Rows      []any            `json:"rows"`
}

// certainty is what the sureness of a verdict says of the statistics.
func certainty(s compare.Sureness) string {
	if s == compare.ExactVerdict || s == compare.UnknownVerdict {
		return string(s)
	}
	return "range"
}

// MarshalJSON writes a comparison as one object; docs/whatif.md has the keys.
func (c Answer) MarshalJSON() ([]byte, error) {
	lines := c.Brief()
	v := jsonAnswer{Brief: &lines, Cause: c.Cause(), Limit: c.jsonLimit(), Outside: c.outsideAtFailure(), Release: c.Workload.Release.Name, Device: int(c.Workload.Device), Certainty: certainty(c.Sureness()), Sureness: c.Sureness(), NoEnd: c.Workload.NoEnd, Rows: []any{}}
	for _, p := range c.Ranked() {
		if p.Asked {
			v.Rows = append(v.Rows, c.row(p))
		}
	}
	if oom := c.Failing(); oom != nil {
		q := &c.Workload.Requests[oom.Request]
		v.Failing = &jsonRequest{uint64(oom.Number), oom.Requested, uint64(q.Stream), history.Site(c.Workload.Entry(q))}
	}
	if p := c.Advised(); p != nil {
		v.Advice = &jsonAdvice{Settings: p.Settings.Text, Export: c.Export(), Sure: c.Sureness() == compare.ExactVerdict || c.Sureness() == compare.SureVerdict}
		if total := c.Workload.DeviceMemory; p.Fraction > 0 && total > 0 {
			v.Advice.MemoryFraction = float64(p.Fraction) / float64(total)
		} else if p.Fraction > 0 {
			v.Advice.MemoryFraction = c.fractionText(p.Fraction)
		}
	}
	return json.Marshal(v)
}

func (c Answer) jsonLimit() jsonLimit {
	low, high := c.LimitRange()
	limit := jsonLimit{Kind: c.Workload.Limit.Kind}
	if c.Given {
		limit.Kind = history.NoLimit
		switch r := c.Readings[0]; {
		case r.Fraction > 0:
			limit.Kind = history.FractionLimit
		case r.Device > 0:
			limit.Kind = history.DeviceLimit
		}
	}
	if b := c.Workload.Limit; !c.Given && b.Refused() { // by every reading
		high = max(high, b.Most)
	}
	if low > 0 {
		limit.Range = &bytesRange{low, high}
		if !c.Workload.LikelyEmptied() || c.Given {
			limit.Bytes = &low
		}
	}
	return limit
}

// NothingToCompare is the answer for a device without requests.
func NothingToCompare(device int) any {
	return jsonAnswer{Cause: compare.UnknownCause, Limit: jsonLimit{Kind: history.UnknownLimit}, Device: device, Certainty: certainty(compare.UnknownVerdict), Sureness: compare.UnknownVerdict, Rows: []any{}}
}
