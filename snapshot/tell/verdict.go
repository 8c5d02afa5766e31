package tell

import (
	"fmt"
	"slices"
	"strings"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// The verdict is the result of a comparison in one paragraph: what happened, why, what to
// do, and how sure that is. The rest of the sentences are details.

// Answer tells a comparison in English, as a table and as JSON.
type Answer struct{ *compare.Comparison }

func join(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(t string) bool { return t == "" }), " ")
}

// Verdict is the result in one paragraph.
func (c Answer) Verdict() string {
	if c.Sureness() == compare.UnknownVerdict { // the warning comes first
		return join(c.sureness(), c.happened(), c.why(), c.outside(), c.do())
	}
	return join(c.happened(), c.why(), c.outside(), c.do(), c.sureness(), c.LimitQuestion())
}

// Details is what the verdict leaves out.
func (c Answer) Details() string {
	now := c.Current()
	var text []string
	if why := c.Workload.Marks.NoExpandable; why != "" && now != nil && !now.Settings.Config.ExpandableSegments {
		text = append(text, fmt.Sprintf("Expandable segments are not advised: %s, and they do not work with that.", why))
	}
	if oom := c.Failing(); oom != nil {
		text = append(text, c.laterOOMs(now), c.holders(oom))
	}
	if a := c.Advised(); a != nil {
		text = append(text, reason(a, now))
	}
	if a := c.Advised(); a != nil && a.OOMRuns() == 0 && a.Retries > 0 {
		text = append(text, fmt.Sprintf("With %s it still reaches the limit: %s it frees all cached segments and waits for the device (num_alloc_retries).", nameInText(a), times(a.Retries)))
	}
	return join(append(text, c.passesLimit(), c.whyNotExact())...)
}

// happened says what happened under the present settings.
func (c Answer) happened() string {
	now := c.Current()
	if now == nil {
		now = c.Ranked()[0]
	}
	switch {
	case now.Err != nil:
		return fmt.Sprintf("With %s the recorded requests cannot be repeated: %v.", nameInText(now), now.Err)
	case now.FirstOOM != nil:
		return c.describeOOM(now)
	}
	text := fmt.Sprintf("No request fails with %s%s: the run reserves %s and allocates at most %s.", nameInText(now), c.under(), reservedText(now), spec.FormatSize(now.PeakAllocated))
	switch {
	case c.Workload.LikelyEmptied() && !c.Given:
		text += " Cached segments were freed once, probably by empty_cache."
	case now.Retries > 0:
		text += fmt.Sprintf(" It reaches the limit: %s all cached segments are freed (num_alloc_retries).", times(now.Retries))
	}
	return text
}

// describeOOM describes the request that fails.
func (c Answer) describeOOM(now *compare.Prediction) string {
	oom := now.FirstOOM
	if now == c.Current() {
		oom = c.Failing()
	}
	text := fmt.Sprintf("Out of memory with %s%s at request %d of %d, which asks for %s", nameInText(now), c.under(), oom.Number, c.Workload.Mallocs, c.requestText(now, oom))
	if line := history.Site(c.Workload.Entry(&c.Workload.Requests[oom.Request])); line != "" {
		text += " (" + line + ")"
	}
	text += fmt.Sprintf(": %s is reserved and %s of it allocated", spec.FormatSize(oom.Reserved), spec.FormatSize(oom.Allocated))
	if pending := oom.Reserved - oom.Allocated - min(oom.Reserved-oom.Allocated, oom.OwnFree+oom.PrivateFree); pending > 0 {
		text += fmt.Sprintf(" (%s is freed, but other streams still use it)", spec.FormatSize(pending))
	}
	if now.Recorded && now.OOMs > 1 {
		text += fmt.Sprintf(". In all %d requests failed", now.OOMs)
	}
	return text + "."
}

// under names the limit.
func (c Answer) under() string {
	low, high := c.LimitRange()
	if low == 0 {
		return ""
	}
	size := joinedRange(low, high)
	switch r := c.Readings[0]; {
	case !c.Given && c.Workload.Limit.Kind == history.DeviceLimit && high == 1:
		return " on a device that has no memory free"
	case c.Given && r.Fraction > 0 && r.Device > 0:
		return fmt.Sprintf(", a memory fraction that allows %s, and %s of device memory", spec.FormatSize(r.Fraction), spec.FormatSize(r.Device))
	case c.Given && r.Device > 0:
		return fmt.Sprintf(" and %s of device memory", size)
	case c.Given:
		return fmt.Sprintf(" and a limit of %s", size)
	case c.Workload.Limit.Inferred:
		return fmt.Sprintf(" and a limit of %s (a memory fraction, or a driver that refuses while memory is free)", size)
	case c.Workload.Limit.Kind == history.FractionLimit:
		return fmt.Sprintf(" and a memory fraction that allows %s", size)
	case c.Workload.Limit.Kind == history.DeviceLimit:
		return fmt.Sprintf(" on a device that has %s for it", size)
	case c.Workload.LikelyEmptied():
		return ""
	}
	return fmt.Sprintf(" and a limit of %s (a memory fraction or a full device)", size)
}

func sizeRange(low, high uint64) string {
	if spec.FormatSize(low) == spec.FormatSize(high) {
		return spec.FormatSize(low)
	}
	return spec.FormatSize(low) + " to " + spec.FormatSize(high)
}

// joinedRange is a range with its unit once where both ends have the same: 4.26 to 4.33 GiB.
func joinedRange(low, high uint64) string {
	least, unit, _ := strings.Cut(spec.FormatSize(low), " ")
	if text := sizeRange(low, high); text != spec.FormatSize(low) && strings.HasSuffix(text, " "+unit) {
		return least + " to " + spec.FormatSize(high)
	}
	return sizeRange(low, high)
}

// requestText is the size of a request that failed, and beside it the size that PyTorch's
// error message has, where the two differ as texts: that is the size of the segment.
func (c Answer) requestText(now *compare.Prediction, oom *play.OutOfMemory) string {
	requested := spec.FormatSize(oom.Requested)
	segment := spec.FormatSize(c.Workload.Settings.SegmentSize(oom.Requested))
	if !now.Recorded || c.Workload.Unrecorded.OOMs == 0 || segment == requested {
		return requested
	}
	return fmt.Sprintf("%s (\"Tried to allocate %s\" in PyTorch's message, which has the size of the segment)", requested, segment)
}

// why says the cause of the failure.
func (c Answer) why() string {
	oom := c.Failing()
	if oom == nil {
		return ""
	}
	switch c.Cause() {
	case compare.Fragmentation:
		return c.fragmentation(oom)
	case compare.Shortage:
		if c.PeakExceedsLimit() {
			peak := c.Workload.PeakRequested()
			return fmt.Sprintf("Cause: a true shortage. At one time the requested sizes of all allocations add up to %s, %s more than the limit.", spec.FormatSize(peak), c.over(peak))
		}
		if oom.LargestFreeBlock >= oom.Requested {
			return "Cause: memory that other streams still used when the request was made; made again, the request succeeds."
		}
		needed := oom.Allocated + compare.ReservedFor(oom.Requested)
		return fmt.Sprintf("Cause: a true shortage. Allocated memory and the request together are %s, %s more than the limit.", spec.FormatSize(needed), c.over(needed))
	case compare.PoolCause:
		if oom.InPool {
			return "Cause: a pool. The request is one of a private pool (a MemPool, or a graph capture), which the free memory of the default pool does not serve."
		}
		return fmt.Sprintf("Cause: a pool. %s is free in private pools (graph captures or MemPools), which serve no other requests.", spec.FormatSize(oom.PrivateFree))
	case compare.OtherProcess:
		return fmt.Sprintf("Cause: another process. The run reserved more before (%s): the memory of other processes on the device grew.", spec.FormatSize(max(c.Current().PeakReserved, c.Workload.Limit.Most)))
	}
	return "Why it failed cannot be told from the record."
}

// fragmentation says that the memory would suffice in one piece, by the test of CauseUnder.
func (c Answer) fragmentation(oom *play.OutOfMemory) string {
	text := fmt.Sprintf("Cause: fragmentation. %s is reserved but free", spec.FormatSize(oom.OwnFree))
	if oom.InPool {
		text += " in the private pool of the request"
	}
	if room := c.roomUnderLimit(oom); oom.OwnFree < oom.Requested {
		text += fmt.Sprintf(", and a limit of %s leaves %s more: %s together, enough for the request in one piece",
			spec.FormatSize(oom.Reserved+room), spec.FormatSize(room), spec.FormatSize(oom.OwnFree+room))
	} else {
		text += ", enough for the request in one piece"
	}
	return text + fmt.Sprintf("; but no free block is larger than %s.", spec.FormatSize(oom.LargestFreeBlock))
}

// roomUnderLimit is what a limit leaves beyond what is reserved, in bytes: the smallest limit under which
// the cause is fragmentation.
func (c Answer) roomUnderLimit(oom *play.OutOfMemory) uint64 {
	low, high := c.LimitRange()
	if c.CauseUnder(oom, low) != compare.Fragmentation {
		low = high
	}
	return low - min(low, oom.Reserved)
}

// over is how much more than the limit is needed, as far as the limit is known.
func (c Answer) over(needed uint64) string {
	switch low, high := c.LimitRange(); {
	case needed <= high:
		return "up to " + hair(needed-min(low, needed))
	case low < high:
		return "at least " + hair(needed-high)
	default:
		return hair(needed - high)
	}
}

// hair writes a small difference so that it can be seen.
func hair(bytes uint64) string {
	if bytes < spec.MiB {
		return counted(int(bytes), "byte")
	}
	return spec.FormatSize(bytes)
}

// do says what to do.
func (c Answer) do() string {
	best, now := c.Recommended(), c.Current()
	p := c.Advised()
	switch {
	case best == nil:
		return "None of the settings can be predicted."
	case p == nil && now != nil && now.FirstOOM != nil:
		return c.nothingHelps(now)
	case p == nil && c.MayBeBetter() != nil:
		return fmt.Sprintf("None of the settings is sure to be better than %s.", nameInText(now))
	case p == nil && now != nil:
		return fmt.Sprintf("None of the settings is clearly better than %s.", nameInText(now))
	case p == nil:
		return ""
	}
	text := fmt.Sprintf("Set %s: with %s ", nameInText(p), them(p))
	if p.Fraction > 0 {
		text = fmt.Sprintf("Set %s together with a memory fraction of %d bytes (torch.cuda.set_per_process_memory_fraction(%s)), without which part of the settings has no effect: with both ", nameOf(p), p.Fraction, c.fractionText(p.Fraction))
	}
	switch {
	case p.OOMRuns() == 0:
		text += fmt.Sprintf("the same requests reserve %s, and none fails%s.", reservedText(p), c.untilFailure(p))
	default:
		text += fmt.Sprintf("no request fails%s if the limit was %s or more; the record leaves open whether it was.", c.untilFailure(p), spec.FormatSizeUp(p.Fits()))
	}
	if v := compare.NeedsVersion(c.Workload.Version, p.Settings.Text); v > 0 {
		text += fmt.Sprintf(" (That needs PyTorch 2.%d or later.)", v)
	}
	return text
}

// untilFailure says that the record ends where it does not end under these settings.
func (c Answer) untilFailure(p *compare.Prediction) string {
	if c.Workload.EndsInFailure() && p.Passed {
		return " up to where the record ends"
	}
	return ""
}

func them(p *compare.Prediction) string {
	if p.NumSettings() > 1 {
		return "them"
	}
	return "it"
}

// fractionText is the argument of set_per_process_memory_fraction.
func (c Answer) fractionText(bytes uint64) string {
	if total := c.Workload.DeviceMemory; total > 0 {
		return fmt.Sprintf("%.6f", float64(bytes)/float64(total))
	}
	return fmt.Sprintf("%d / torch.cuda.get_device_properties(%d).total_memory", bytes, c.Workload.Device)
}

// nothingHelps says by how much the limit is too small.
func (c Answer) nothingHelps(now *compare.Prediction) string {
	if c.Workload.Unrecorded.PoolFailures > 0 {
		return "No setting of the allocator changes that."
	}
	if c.PeakExceedsLimit() {
		return c.needsLess()
	}
	low, _ := c.LimitRange()
	best := c.Ranked()[0]
	text := "None of the settings saves the run."
	if !c.NothingIsBetter() && !c.Workload.Complete() {
		return "Whether other settings save the run cannot be told from this record, whose beginning is missing: record from the start."
	}
	if best.OOMRuns() < len(best.Runs) {
		text = fmt.Sprintf("None of the settings is sure to save the run: with %s no request fails in %d of %d runs under different assumptions.", nameInText(best), len(best.Runs)-best.OOMRuns(), len(best.Runs))
	}
	if c.NeededLimit == 0 {
		return text
	}
	text += fmt.Sprintf(" With %s a limit of %s would suffice, %s more", nameInText(best), spec.FormatSizeUp(c.NeededLimit), hair(c.NeededLimit-min(c.NeededLimit, low)))
	if best != now && c.NeededNow > 0 {
		text += fmt.Sprintf("; with %s it takes %s", nameInText(now), spec.FormatSizeUp(c.NeededNow))
	}
	text += "."
	if c.Given && low < c.NeededLimit && c.NeededLimit-low <= messagePrecision {
		text += " PyTorch's message rounds the limit to 0.01 GiB: it may have been as much."
	}
	return text
}

// needsLess says that the requested sizes exceed the limit. Under a memory fraction
// expandable segments can pass it, by less than one segment.
func (c Answer) needsLess() string {
	_, high := c.LimitRange()
	segment := spec.DefaultConfig(spec.DefaultGeometry()).LargeSegmentSize
	if over := c.Workload.PeakRequested() - high; over < segment && c.LimitReading().Fraction > 0 && !c.comparesExpandable() {
		return fmt.Sprintf("None of the compared settings helps. With expandable_segments:True, which was not compared, reserved memory can pass a memory fraction by less than one segment (%s); otherwise the program needs smaller batches, or must free memory earlier.", spec.FormatSize(segment))
	}
	return "None of the compared settings helps: the program needs smaller batches, or must free memory earlier."
}

// comparesExpandable reports whether expandable segments of the default size were compared.
func (c Answer) comparesExpandable() bool {
	expandable, _ := history.ParseSettings("expandable_segments:True", c.Workload.Release)
	return slices.ContainsFunc(c.Predictions, func(p compare.Prediction) bool { return p.Settings.Same(expandable) })
}

// passesLimit says why reserved memory passes a memory fraction, if that shows.
func (c Answer) passesLimit() string {
	_, high := c.LimitRange()
	if high == 0 || c.LimitReading().Fraction == 0 {
		return ""
	}
	for _, p := range c.Shown(false) {
		if p.Err == nil && compare.BeyondLimit(p.Settings) > 0 && p.Figures().Reserved.High > high {
			return "With expandable segments reserved memory can pass the limit: PyTorch compares the limit with the size of the segment that the request needs, and then maps whole pages of the large segment size, which may be more."
		}
	}
	return ""
}

// messagePrecision is how much larger a limit may be than PyTorch's message says, in bytes.
const messagePrecision = spec.GiB / 200

// LimitQuestion asks for the limit, where the record leaves open what it was and that
// matters, "" otherwise.
func (c Answer) LimitQuestion() string {
	const copied = "give the figure before it to --limit, as in --limit=FIGUREGiB."
	switch {
	case !c.AsksForLimit():
		return ""
	case c.Workload.Limit.Kind == history.FractionLimit:
		return "The error message of PyTorch has the limit, as \"GiB allowed\": " + copied
	case c.Advised() != nil:
		return "If the error message of PyTorch has \"GiB allowed\", " + copied + " If it has not, set what is to be tried and run again."
	}
	return "If the error message of PyTorch has \"GiB allowed\", " + copied
}

// HowSure is how sure the verdict is, in a sentence.
func (c Answer) HowSure() string { return strings.ReplaceAll(c.sureness(), "(see below)", "(--why)") }

// sureness says in a few words how sure the verdict is.
func (c Answer) sureness() string {
	p := c.Advised()
	if p == nil {
		p = c.Current()
	}
	if p == nil || p.Err != nil {
		return ""
	}
	switch c.Sureness() {
	case compare.ExactVerdict:
		return "Exact: the whole record is reproduced, and nothing that it leaves open changes this verdict."
	case compare.OpenVerdict:
		return fmt.Sprintf("Exact for the present settings: the whole record is reproduced. Whether other settings reserve less cannot be told: %s.", c.Differences(c.MayBeBetter())[0])
	case compare.SureVerdict:
		return "That much is sure; the statistics are not exact (see below)."
	case compare.LimitVerdict:
		if p.DependsOnLimit() {
			return fmt.Sprintf("So it depends on the limit: with %s or more no request fails, and with less one fails with %s, too.", spec.FormatSizeUp(p.Fits()), nameInText(p))
		}
	case compare.UnknownVerdict:
		return "This cannot be relied on: the record is not reproduced."
	}
	return "That is likely, but not sure (see below)."
}

// whyNotExact says why the statistics of the prediction that matters are not exact.
func (c Answer) whyNotExact() string {
	p := c.Advised()
	if p == nil {
		p = c.Current()
	}
	if p == nil || p.Exact() {
		return ""
	}
	text := fmt.Sprintf("The statistics of %s are not exact: %s.", nameInText(p), strings.Join(c.Differences(p), "; "))
	if p.OOMRuns() > 0 && p.OOMRuns() < len(p.Runs) && !p.DependsOnLimit() {
		text += fmt.Sprintf(" In %d of %d runs, under different assumptions, a request fails.", p.OOMRuns(), len(p.Runs))
	}
	return text
}

// Export is the shell command for the recommended settings, "" if the present ones are
// to stay. The variable is that of the version of PyTorch; where that is not known, it is
// both.
func (c Answer) Export() string {
	p := c.Advised()
	if p == nil {
		return ""
	}
	return exportFor(c.Workload.Version, p.Settings.Text)
}

func exportFor(v snapshot.Version, value string) string {
	if strings.ContainsAny(value, "[]<> '\"") {
		value = "'" + value + "'"
	}
	const newName, oldName = "PYTORCH_ALLOC_CONF=", "PYTORCH_CUDA_ALLOC_CONF="
	switch {
	case v.Least >= 9:
		return "export " + newName + value
	case v.Most < 9:
		return "export " + oldName + value
	}
	return "export " + newName + value + " " + oldName + value
}

// name is the settings in a text.
func nameOf(p *compare.Prediction) string {
	if p.Settings.Text == "" {
		return "the default settings"
	}
	return p.Settings.Text
}

func nameInText(p *compare.Prediction) string {
	if p.Fraction > 0 {
		return fmt.Sprintf("%s and a memory fraction that allows %s", nameOf(p), spec.FormatSize(p.Fraction))
	}
	return nameOf(p)
}

func reservedText(p *compare.Prediction) string {
	f := p.Figures()
	switch {
	case !p.Told():
		return "an amount that cannot be told"
	case p.UpToLimit():
		return spec.FormatSize(f.Reserved.Low) + " or more (up to the limit)"
	case f.Open:
		return rangeInWords(f.Reserved) + " as far as the record goes (unknown after it)"
	case f.Reserved.Low != f.Reserved.High:
		return rangeInWords(f.Reserved)
	}
	return "at most " + rangeInWords(f.Reserved)
}

func rangeInWords(r compare.Range) string { return sizeRange(r.Low, r.High) }

// laterOOMs counts the OOMs of a program that goes on after the first one.
func (c Answer) laterOOMs(p *compare.Prediction) string {
	if p == nil || p.FirstOOM == nil || c.Workload.Unrecorded.OOMs > 0 {
		return ""
	}
	more := p.AtEnd.OOMs - p.OOMs
	if more == 0 {
		return "A program that goes on without that memory has no other request that fails."
	}
	return fmt.Sprintf("A program that goes on without that memory is out of memory %s more.", times(more))
}

// holders names the allocations to look at first, if nothing saves the run.
func (c Answer) holders(oom *play.OutOfMemory) string {
	if c.Advised() != nil {
		return ""
	}
	var list []string
	for _, h := range compare.LargestHolders(c.Workload, oom.Request, 3) {
		list = append(list, holderInWords(&h))
	}
	if len(list) == 0 {
		return ""
	}
	return "Look first at what is allocated then: " + strings.Join(list, "; ") + "."
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// reason explains why settings reserve less.
func reason(p, now *compare.Prediction) string {
	switch c := &p.Settings.Config; {
	case now == nil:
		return ""
	case c.ExpandableSegments:
		return "The reason is that expandable segments map memory page by page behind one range of addresses, so free memory merges with the free memory beside it and serves larger requests; in segments of fixed size it remains in blocks too small for later requests."
	case c.MaxSplitSize != spec.Unlimited:
		return fmt.Sprintf("The reason is that blocks of %s and more are not split for smaller requests, so they can be reused whole, or be freed.", spec.FormatSize(c.MaxSplitSize))
	case c.Divisions != [spec.NumDivisions]uint64{}:
		return "The reason is that requests are rounded to fewer different sizes, so free blocks fit again more often."
	case c.GarbageCollectionThreshold > 0:
		return "The reason is that cached segments which have not been used for long are freed before the limit is reached."
	}
	return "The reason is that segments have another size, which suits these requests better."
}

// LimitNote says what is assumed of the limit, and why.
func (c Answer) LimitNote() string {
	low, high := c.LimitRange()
	b := c.Workload.Limit
	bytes := fmt.Sprintf("%d bytes (%s)", low, spec.FormatSize(low))
	if high > low {
		bytes = fmt.Sprintf("%d to %d bytes (%s)", low, high, sizeRange(low, high))
	}
	switch {
	case low == 0 && c.Given:
		return "Limit: none."
	case low == 0:
		return "Limit: none was reached."
	case c.Given:
		return "Limit: " + bytes + "."
	case c.Workload.LikelyEmptied():
		return "Limit: none, or " + bytes + ": the record does not tell. --limit sets one."
	case b.Inferred:
		return "Limit: " + bytes + ", as the record shows: a memory fraction, or a driver that refuses although memory is free, as on Windows, WSL, ROCm and in containers. --limit or --device-memory sets another."
	case b.Kind == history.FractionLimit:
		return "Limit: a memory fraction that allows " + bytes + ", as the record shows. --limit sets another."
	case b.Kind == history.DeviceLimit && high == 1:
		return "Limit: the device had no memory free, as the record shows. --device-memory sets another."
	case b.Kind == history.DeviceLimit && b.Moved:
		return "Limit: the device was full at " + bytes + " of this process, as the record shows; other processes' memory moved the bound. --device-memory sets another."
	case b.Kind == history.DeviceLimit:
		return "Limit: the device was full at " + bytes + " of this process, as the record shows. --device-memory sets another."
	}
	return "Limit: " + bytes + "; the record does not tell whether a memory fraction or a full device. --limit or --device-memory sets another."
}
