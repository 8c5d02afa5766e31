package report

import (
	"slices"

	"gaugeblock/internal/brief"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/tell"
)

// Everything of a comparison that the page shows is read here.

// briefOf is what happened, the cause and what to try.
func briefOf(c *compare.Comparison) *brief.Lines {
	if c == nil {
		return nil
	}
	l := tell.Answer{Comparison: c}.Brief()
	return &l
}

// verdict is what happened, why, what to do, and how sure that is, in one paragraph.
func verdict(c *compare.Comparison) string {
	if c == nil {
		return ""
	}
	return shortenEnd(tell.Answer{Comparison: c}.Verdict(), maxNote)
}

// whatIf is the table of other settings.
func whatIf(c *compare.Comparison) *WhatIf {
	if c == nil {
		return nil
	}
	answer := tell.Answer{Comparison: c}
	w := &WhatIf{
		Cause: string(c.Cause()), Limit: c.Limit, LimitNote: answer.LimitNote(), AskLimit: answer.LimitQuestion(), Predictions: []Prediction{},
		Export: shortenEnd(answer.Export(), maxNote), Details: shortenEnd(answer.Details(), 2*maxNote),
	}
	important := answer.Shown(false)
	for _, p := range c.Ranked() {
		f := p.Figures()
		shown := Prediction{
			Settings: shortenEnd(p.Settings.Text, maxText), Fraction: p.Fraction,
			PeakReserved: [2]uint64{f.Reserved.Low, f.Reserved.High}, OpenEnd: f.Open, PeakAllocated: f.PeakAllocated, DependsOn: p.DependsOnLimit(),
			Unallocated: f.Unallocated(), AllocRetries: f.Retries, DeviceCalls: f.DeviceAllocs + f.DeviceFrees,
			OutOfMemory: tell.OOMInWords(p), Exact: p.Exact(), Differences: differences(answer.Differences(p)), Recorded: p.Recorded, Recommended: p == c.Advised(),
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
