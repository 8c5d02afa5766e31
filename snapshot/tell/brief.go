package tell

import (
	"fmt"
	"path"
	"strings"

	"gaugeblock/internal/brief"
	"gaugeblock/internal/quote"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// The three lines that come first everywhere: in the terminal, on the page and in JSON. The
// verdict gives the reasons.

// Brief is the answer in three lines.
func (c Answer) Brief() brief.Lines {
	happened := c.briefHappened()
	return brief.Lines{Happened: strings.ToUpper(happened[:1]) + happened[1:], Cause: c.briefCause(), Try: c.briefTry()}.Fit()
}

// briefHappened says what happened, or what is predicted under another limit or other settings.
func (c Answer) briefHappened() string {
	now := c.Current()
	if now == nil {
		now = c.Ranked()[0]
	}
	with, predicted := "", ""
	if !now.Recorded {
		predicted = "Predicted: "
	}
	if !now.Settings.Same(c.Workload.Settings) {
		with = " with " + nameInText(now)
	}
	switch {
	case now.Err != nil:
		return "Nothing can be told: the requests of the record cannot be repeated" + with
	case now.FirstOOM == nil && now.OpenFailure():
		return "Whether a request fails" + with + " cannot be told from this record"
	case now.FirstOOM == nil:
		return fmt.Sprintf("%sno request fails%s: %s reserved, %s allocated at the peaks", predicted, with, reservedInWords(now), spec.FormatSize(now.PeakAllocated))
	}
	oom := c.Failing()
	if oom == nil {
		oom = now.FirstOOM
	}
	at := fmt.Sprintf("request %d", oom.Number)
	if line := c.shortSite(oom); line != "" {
		at = line
	}
	return fmt.Sprintf("%sout of memory at %s%s: asked for %s, %s allocated%s", predicted, at, with, spec.FormatSize(oom.Requested), spec.FormatSize(oom.Allocated), c.briefLimit())
}

// shortSite is the file, without its folders, and line of the program.
func (c Answer) shortSite(oom *play.OutOfMemory) string {
	frame, found := history.FrameOf(c.Workload.Entry(&c.Workload.Requests[oom.Request]))
	if !found {
		return ""
	}
	return fmt.Sprintf("%s:%d", quote.Text(path.Base(strings.ReplaceAll(frame.Filename, `\`, "/"))), frame.Line)
}

func (c Answer) briefLimit() string {
	low, high := c.LimitRange()
	if low == 0 || high == 1 {
		return ""
	}
	if c.Given && c.Readings[0].Device > 0 || !c.Given && c.Workload.Limit.Kind == history.DeviceLimit {
		return " of " + joinedRange(low, high)
	}
	return ", limit " + joinedRange(low, high)
}

func (c Answer) briefCause() string {
	now, oom := c.Current(), c.Failing()
	if oom == nil {
		if now == nil || now.Err != nil || now.OpenFailure() {
			return ""
		}
		return fmt.Sprintf("%s%.0f %% of the peak reserved is not allocated%s", mark(now), 100*now.Figures().Unallocated(), retriesInBrief(now))
	}
	switch c.Cause() {
	case compare.Fragmentation:
		return c.fragmentationInBrief(oom)
	case compare.Shortage:
		_, high := c.LimitRange()
		switch needed := oom.Allocated + compare.ReservedFor(oom.Requested); {
		case c.PeakExceedsLimit():
			return fmt.Sprintf("a true shortage: %s is needed at one time, %s more than there is", spec.FormatSize(c.Workload.PeakRequested()), hair(c.Workload.PeakRequested()-high))
		case oom.LargestFreeBlock >= oom.Requested:
			return "other streams still used the free memory when the request was made"
		default:
			return fmt.Sprintf("a true shortage: with the request %s is needed, %s more than there is", spec.FormatSize(needed), hair(needed-min(high, needed)))
		}
	case compare.PoolCause:
		if oom.InPool {
			return "a private pool: free memory of the default pool does not serve its requests"
		}
		return fmt.Sprintf("private pools: %s is free in them, and serves no other requests", spec.FormatSize(oom.PrivateFree))
	case compare.OtherProcess:
		return "another process: memory that this one had before was no longer free"
	}
	return "cannot be told from this record"
}

// fragmentationInBrief has what is free under the limit as well, where the request needs both.
func (c Answer) fragmentationInBrief(oom *play.OutOfMemory) string {
	cached, largest := spec.FormatSize(oom.OwnFree), spec.FormatSize(oom.LargestFreeBlock)
	if room := c.roomUnderLimit(oom); oom.OwnFree < oom.Requested && room > 0 {
		least := ""
		if low, high := c.LimitRange(); low < high {
			least = "at least "
		}
		return fmt.Sprintf("fragmentation: %s%s left, %s of it in pieces of at most %s", least, spec.FormatSize(oom.OwnFree+room), cached, largest)
	}
	return fmt.Sprintf("fragmentation: %s free in pieces of at most %s", cached, largest)
}

func retriesInBrief(now *compare.Prediction) string {
	if now.Retries == 0 {
		return ""
	}
	return fmt.Sprintf("; the cache is freed %s at the limit", times(now.Retries))
}

func (c Answer) briefTry() string {
	now, p := c.Current(), c.Advised()
	switch {
	case c.Recommended() == nil:
		return ""
	case c.Sureness() == compare.UnknownVerdict && c.Workload.Complete():
		return "nothing can be advised: the record is whole, and not reproduced (--why says where it differs)"
	case c.Sureness() == compare.UnknownVerdict:
		return "record from the start: this record is not reproduced, so nothing can be advised"
	case p != nil && p.Fraction > 0:
		if call := fmt.Sprintf("%s, and set_per_process_memory_fraction(%s)", nameOf(p), c.fractionText(p.Fraction)); brief.Fits(call) {
			return call
		}
		return fmt.Sprintf("%s, and a memory fraction of %s: see --why", nameOf(p), spec.FormatSize(p.Fraction))
	case p != nil:
		return c.settingsInBrief(p)
	case c.MayBeBetter() != nil:
		return "no change yet: this record cannot tell whether other settings reserve less"
	case now == nil || now.FirstOOM == nil:
		return "nothing: no other settings are clearly better"
	case c.Workload.Unrecorded.PoolFailures > 0 || c.PeakExceedsLimit():
		return "smaller batches, or free memory earlier: no setting suffices"
	case !c.NothingIsBetter() && !c.Workload.Complete():
		return "record from the start: this record does not tell whether other settings suffice"
	case c.NeededLimit > 0 && c.Workload.Limit.Kind == history.DeviceLimit && !c.Given:
		return fmt.Sprintf("smaller batches, or %s for the allocator: no compared setting is sure to suffice", spec.FormatSizeUp(c.NeededLimit))
	case c.NeededLimit > 0:
		return fmt.Sprintf("smaller batches, or a limit of %s: no compared setting is sure to suffice", spec.FormatSizeUp(c.NeededLimit))
	}
	return "smaller batches, or free memory earlier: no compared setting is sure to suffice"
}

// settingsInBrief is the command that sets what is advised, with its condition: the first form that fits.
func (c Answer) settingsInBrief(p *compare.Prediction) string {
	condition := ""
	if p.OOMRuns() > 0 && p.Fits() > 0 {
		condition = fmt.Sprintf("if the limit is %s or more", spec.FormatSizeUp(p.Fits()))
	}
	named := "the settings " + nameOf(p) + " (PYTORCH_ALLOC_CONF)"
	switch export := c.Export(); {
	case condition == "" && brief.Fits(export):
		return export
	case condition == "":
		return named
	case brief.Fits(export + "   # " + condition):
		return export + "   # " + condition
	case brief.Fits(named + ", " + condition):
		return named + ", " + condition
	}
	return "the settings that --why names (PYTORCH_ALLOC_CONF), " + condition
}
