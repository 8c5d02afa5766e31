package tell

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"gaugeblock/internal/brief"
	"gaugeblock/internal/quote"
	"gaugeblock/snapshot"
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
	return brief.Lines{Happened: strings.ToUpper(happened[:1]) + happened[1:], Cause: c.briefCause(), Peak: c.briefPeak(), Try: c.briefTry()}.Fit()
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
		return c.briefSuccess(now, predicted, with)
	}
	oom := c.Failing()
	if oom == nil {
		oom = now.FirstOOM
	}
	at := cmp.Or(shortSite(c.Workload.Entry(&c.Workload.Requests[oom.Request])), fmt.Sprintf("request %d", oom.Number))
	return fmt.Sprintf("%sout of memory at %s%s: asked for %s, %s allocated%s", predicted, at, with, spec.FormatSize(oom.Requested), spec.FormatSize(oom.Allocated), c.briefLimit())
}

// briefSuccess has the peaks, and how often the cache was freed. Of long settings their names are left out.
func (c Answer) briefSuccess(now *compare.Prediction, predicted, with string) string {
	retries := ""
	if n := now.Retries; n > 0 {
		retries = fmt.Sprintf(", after %s at the limit", counted(int(n), "retry"))
	}
	fails := "fails"
	if !c.Workload.Complete() {
		fails = "fails in this part of the run"
	}
	form := func(with, behind string) string {
		return fmt.Sprintf("%sno request %s%s%s: %s reserved, %s allocated%s", predicted, fails, with, retries, reservedInWords(now), spec.FormatSize(now.PeakAllocated), behind)
	}
	const atPeaks = " at the peaks"
	return brief.Headline(form(with, atPeaks), form(with, ""), form(" with the given settings", ""))
}

// shortSite is the file, without its folders, and line of the program; "" without a call stack.
func shortSite(e *snapshot.TraceEntry) string {
	frame, found := history.FrameOf(e)
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
	oom := c.Failing()
	if oom == nil {
		return ""
	}
	switch c.Cause() {
	case compare.Fragmentation:
		return c.fragmentationInBrief(oom)
	case compare.Shortage:
		switch needed := oom.Allocated + compare.ReservedFor(oom.Requested); {
		case c.deviceIsFull():
			return "a full device: none of its memory is left for the allocator of this process"
		case c.PeakExceedsLimit():
			return fmt.Sprintf("a true shortage: %s is needed at one time, %s more than there is", spec.FormatSize(c.Workload.PeakRequested()), c.over(c.Workload.PeakRequested()))
		case oom.LargestFreeBlock >= oom.Requested:
			return "other streams still used the free memory when the request was made"
		default:
			return fmt.Sprintf("a true shortage: with the request %s is needed, %s more than there is", spec.FormatSize(needed), c.over(needed))
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

// briefPeak says where a program without trouble has its peak, what holds most of it, and how much the
// allocator holds beyond it.
func (c Answer) briefPeak() string {
	now, w := c.Current(), c.Workload
	if c.Failing() != nil || now == nil || now.Err != nil || now.OpenFailure() {
		return ""
	}
	request := w.PeakRequest()
	holders := compare.LargestHolders(w, request+1, 1)
	if len(holders) == 0 {
		return ""
	}
	at, holder, beyond := c.placeOf(request), holderInBrief(&holders[0]), c.unallocatedInBrief(now)
	if site, _ := strings.CutPrefix(at, "at "); strings.HasPrefix(holder, site+" holds ") {
		return brief.FirstThatFits(holder+beyond, holder)
	}
	return brief.FirstThatFits(at+": "+holder+beyond, holder+beyond, at+": "+holder, holder)
}

// placeOf is the program's line of a request, or else its number.
func (c Answer) placeOf(request int) string {
	if request < 0 {
		return "at the start of the record"
	}
	if site := shortSite(c.Workload.Entry(&c.Workload.Requests[request])); site != "" {
		return "at " + site
	}
	number := 0
	for i := range c.Workload.Requests[:request+1] {
		if k := c.Workload.Requests[i].Kind; k == history.Malloc || k == history.FailedMalloc {
			number++
		}
	}
	return fmt.Sprintf("at request %d", number)
}

func holderInBrief(h *compare.Holder) string {
	size := spec.FormatSize(h.Bytes)
	switch {
	case h.Start:
		return size + " of it from before the record begins"
	case h.Entry != nil:
		return shortSite(h.Entry) + " holds " + size + " of it"
	case h.Count == 1:
		return size + " of it in one allocation"
	}
	return fmt.Sprintf("%s of it in %d blocks of %s", size, h.Count, spec.FormatSize(h.Bytes/uint64(h.Count)))
}

// unallocatedInBrief is by how much the peak reserved is above the peak allocated: at least as much
// is reserved and free at that peak.
func (c Answer) unallocatedInBrief(now *compare.Prediction) string {
	f := now.Figures()
	more := f.Reserved.Low - min(f.Reserved.Low, f.PeakAllocated)
	switch {
	case !now.Told():
		return ""
	case more < f.Reserved.Low/100:
		return "; hardly any more is reserved"
	}
	return fmt.Sprintf("; %s more is reserved", spec.FormatSize(more))
}

// lessMemory is what helps where no setting does, and what holds most when the request fails.
func (c Answer) lessMemory(behind string) string {
	const text = "smaller batches, or free memory earlier"
	holders := compare.LargestHolders(c.Workload, c.Failing().Request, 1)
	if len(holders) == 0 || holders[0].Entry == nil {
		return text + behind
	}
	return brief.FirstThatFits(fmt.Sprintf("%s (%s holds %s)%s", text, shortSite(holders[0].Entry), spec.FormatSize(holders[0].Bytes), behind), text+behind)
}

// noTrouble is what is left to try where no request fails: the line that holds most of the peak, if one does.
func (c Answer) noTrouble() string {
	holders := compare.LargestHolders(c.Workload, c.Workload.PeakRequest()+1, 1)
	if now := c.Current(); now != nil && len(holders) > 0 && holders[0].Entry != nil && holders[0].Bytes > now.PeakAllocated/2 {
		return fmt.Sprintf("for less, look at %s; no other settings are clearly better", shortSite(holders[0].Entry))
	}
	return "nothing: no other settings are clearly better"
}

// deviceIsFull reports whether the device has nothing free for the program.
func (c Answer) deviceIsFull() bool {
	_, high := c.LimitRange()
	return !c.Given && c.Workload.Limit.Kind == history.DeviceLimit && high == 1
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
		const beside = ", and a memory fraction of "
		call, size := fmt.Sprintf("%s, and set_per_process_memory_fraction(%s)", nameOf(p), c.fractionText(p.Fraction)), spec.FormatSize(p.Fraction)
		return brief.FirstThatFits(call, nameOf(p)+beside+size+": see --why", "the settings that --why names (PYTORCH_ALLOC_CONF)"+beside+size)
	case p != nil:
		return c.settingsInBrief(p)
	case c.MayBeBetter() != nil:
		return "no change yet: this record cannot tell whether other settings reserve less"
	case now == nil || now.FirstOOM == nil:
		return c.noTrouble()
	case c.Workload.Unrecorded.PoolFailures > 0 || c.PeakExceedsLimit():
		return c.lessMemory(": no setting suffices")
	case c.deviceIsFull() && c.NeededLimit > 0:
		return fmt.Sprintf("make room on the device, of which others hold all: %s is needed", spec.FormatSizeUp(c.NeededLimit))
	case !c.NothingIsBetter() && !c.Workload.Complete():
		return "record from the start: this record does not tell whether other settings suffice"
	case c.NeededLimit > 0 && c.Workload.Limit.Kind == history.DeviceLimit && !c.Given:
		return fmt.Sprintf("smaller batches, or %s for the allocator: no compared setting is sure to suffice", spec.FormatSizeUp(c.NeededLimit))
	case c.NeededLimit > 0:
		return fmt.Sprintf("smaller batches, or a limit of %s: no compared setting is sure to suffice", spec.FormatSizeUp(c.NeededLimit))
	}
	return c.lessMemory(": no compared setting is sure to suffice")
}

// settingsInBrief is the command that sets what is advised, with its condition: the first form that fits. Settings
// are told whole or not at all.
func (c Answer) settingsInBrief(p *compare.Prediction) string {
	behind, comment := "", ""
	if p.OOMRuns() > 0 && p.Fits() > 0 {
		condition := fmt.Sprintf("if the limit is %s or more", spec.FormatSizeUp(p.Fits()))
		behind, comment = ", "+condition, "   # "+condition
	}
	return brief.FirstThatFits(c.Export()+comment, "the settings "+nameOf(p)+" (PYTORCH_ALLOC_CONF)"+behind, "the settings that --why names (PYTORCH_ALLOC_CONF)"+behind)
}
