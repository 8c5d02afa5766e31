package report

import "gaugeblock/snapshot/whatif"

// Everything of a comparison that the page shows is read here.

// verdict is what happened and what to do, in one paragraph.
func verdict(c *whatif.Comparison) string {
	if c == nil {
		return ""
	}
	return shortenEnd(c.Advice(), maxNote)
}

// whatIf is the table of other settings.
func whatIf(c *whatif.Comparison) *WhatIf {
	if c == nil {
		return nil
	}
	w := &WhatIf{Limit: c.Limit, Predictions: []Prediction{}, Export: shortenEnd(c.Export(), maxNote)}
	for _, p := range c.Ranked() {
		shown := Prediction{
			Settings: shortenEnd(p.Settings, maxText), PeakReserved: [2]uint64{p.PeakReservedRange.Low, p.PeakReservedRange.High}, PeakAllocated: p.PeakAllocated,
			Unallocated: p.Unallocated(), AllocRetries: p.Retries, DeviceCalls: p.DeviceAllocs + p.DeviceFrees,
			Exact: p.Exact(), Recorded: p.Recorded, Recommended: p == c.Recommended(),
		}
		if p.FirstOOM != nil {
			shown.OOMRequest = int64(p.FirstOOM.Number)
		}
		w.Predictions = append(w.Predictions, shown)
	}
	return w
}
