package report

import (
	"slices"

	"gaugeblock/snapshot/whatif"
)

// Everything of a comparison that the page shows is read here.

// verdict is what happened, why, what to do, and how sure that is, in one paragraph.
func verdict(c *whatif.Comparison) string {
	if c == nil {
		return ""
	}
	return shortenEnd(c.Verdict(), maxNote)
}

// whatIf is the table of other settings.
func whatIf(c *whatif.Comparison) *WhatIf {
	if c == nil {
		return nil
	}
	w := &WhatIf{
		Cause: string(c.Cause()), Limit: c.Limit, LimitNote: c.LimitNote(), AskLimit: c.LimitExample(), Predictions: []Prediction{},
		Export: shortenEnd(c.Export(), maxNote), Details: shortenEnd(c.Details(), 2*maxNote),
	}
	important := c.Shown(false)
	for _, p := range c.Ranked() {
		f := p.Figures()
		low, high, open := f.Reserved()
		shown := Prediction{
			Settings: shortenEnd(p.Settings, maxText), Fraction: p.Fraction,
			PeakReserved: [2]uint64{low, high}, OpenEnd: open, PeakAllocated: f.PeakAllocated, DependsOn: p.DependsOnLimit(),
			Unallocated: f.Unallocated(), AllocRetries: f.Retries, DeviceCalls: f.DeviceAllocs + f.DeviceFrees,
			OutOfMemory: p.OutOfMemoryInWords(), Exact: p.Exact(), Differences: differences(p.Differences), Recorded: p.Recorded, Recommended: p == c.Recommended(),
			Important: slices.Contains(important, p),
		}
		if p.FirstOOM != nil {
			shown.OOMRequest = int64(p.FirstOOM.Number)
		}
		if p.Err != nil {
			shown.Error = shortenEnd(p.Err.Error(), maxText)
		}
		w.Predictions = append(w.Predictions, shown)
	}
	return w
}

// differences shortens the reasons why statistics are not exact.
func differences(reasons []string) []string {
	list := []string{}
	for _, r := range reasons {
		list = append(list, shortenEnd(r, maxText))
	}
	return list
}
