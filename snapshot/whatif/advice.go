package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/quote"
	"gaugeblock/spec/settings"
)

// Advice is the result of a comparison in a few sentences: the outcome under the present
// settings, which settings to export instead and why, and how exact that is.
func (c *Comparison) Advice() string {
	best, now := c.Recommended(), c.current()
	var text []string
	add := func(sentences ...string) { text = append(text, sentences...) }
	if failing := cmp.Or(now, best); failing.FirstOOM != nil {
		add(c.describeOOM(failing), c.laterOOMs(failing))
	}
	switch {
	case best.FirstOOM != nil:
		add(c.noSettingHelps(best))
	case now != nil && !better(best, now):
		add(fmt.Sprintf("None of the settings is clearly better than %s: with those the run %s.", nameInText(now.Settings), peaks(now)))
	default:
		add(fmt.Sprintf("The best of the settings is %s: with it the run %s.", nameInText(best.Settings), peaks(best)))
		if now != nil && now.FirstOOM == nil {
			add(fmt.Sprintf("With %s it %s.", nameInText(now.Settings), peaks(now)))
		}
		add(reason(best, now))
	}
	if best.FirstOOM == nil && best.Retries > 0 {
		add(fmt.Sprintf("It still reaches the limit: %s it frees all cached segments and waits for the device (num_alloc_retries).", times(best.Retries)))
	}
	add(c.exactness(best))
	return strings.Join(slices.DeleteFunc(text, func(t string) bool { return t == "" }), " ")
}

// Export is the shell command for the recommended settings, "" if the present ones are
// to stay.
func (c *Comparison) Export() string {
	best, now := c.Recommended(), c.current()
	if best.FirstOOM != nil && !c.neededMayBeAllowed() || best == now || now != nil && !better(best, now) {
		return ""
	}
	if strings.ContainsAny(best.Settings, "[]<>") {
		return "export PYTORCH_ALLOC_CONF='" + best.Settings + "'"
	}
	return "export PYTORCH_ALLOC_CONF=" + best.Settings
}

// neededMayBeAllowed reports whether NeededLimit, which is above the assumed limit, may
// have been the limit of the recorded run.
func (c *Comparison) neededMayBeAllowed() bool {
	b := c.Workload.Limit
	return c.NeededLimit > 0 && b.Refused() && !b.Known() && c.NeededLimit <= b.Most && c.Limit == b.Least
}

// current is the prediction for the settings of the recorded run, or else for the default
// ones; nil if there is neither.
func (c *Comparison) current() *Prediction {
	for _, settings := range []string{c.Workload.recordedSettings(), ""} {
		for i := range c.Predictions {
			if sameSettings(c.Predictions[i].Settings, settings) {
				return &c.Predictions[i]
			}
		}
	}
	return nil
}

func nameInText(settings string) string {
	if settings == "" {
		return "the default settings"
	}
	return settings
}

func peaks(p *Prediction) string {
	return fmt.Sprintf("has at most %s reserved and %s allocated", p.PeakReservedRange.text(), spec.FormatSize(p.PeakAllocated))
}

func (r Range) text() string {
	low, high := spec.FormatSize(r.Low), spec.FormatSize(r.High)
	if low == high {
		return high
	}
	return low + " to " + high
}

// describeOOM describes the first OOM of a prediction.
func (c *Comparison) describeOOM(p *Prediction) string {
	oom := p.FirstOOM
	text := fmt.Sprintf("With %s%s the run is out of memory at request %d of %d, which asks for %s",
		nameInText(p.Settings), under(p.Limit), oom.Number, c.Workload.Mallocs, spec.FormatSize(oom.Requested))
	if frames := c.Workload.Entry(&c.Workload.Requests[oom.Request]).Context.Frames; len(frames) > 0 {
		frame := frames[len(frames)-1]
		for _, candidate := range frames { // the innermost frame outside of libraries
			if !strings.Contains(candidate.Filename, "site-packages") {
				frame = candidate
				break
			}
		}
		text += fmt.Sprintf(" (%s:%d, %s)", quote.Text(frame.Filename), frame.Line, quote.Text(frame.Name))
	}
	text += fmt.Sprintf(": %s is reserved and %s of it allocated", spec.FormatSize(oom.Reserved), spec.FormatSize(oom.Allocated))
	if unallocated := oom.Reserved - oom.Allocated; unallocated > 0 {
		text += fmt.Sprintf(", and of the %s that is reserved but unallocated no free block is larger than %s", spec.FormatSize(unallocated), spec.FormatSize(oom.LargestFreeBlock))
	}
	return text + "."
}

func under(limit uint64) string {
	if limit == 0 {
		return ""
	}
	return " and a limit of " + spec.FormatSize(limit)
}

// laterOOMs counts the OOMs of a program that goes on after the first one.
func (c *Comparison) laterOOMs(p *Prediction) string {
	more := p.AtEnd.OOMs - p.OOMs
	switch {
	case c.Workload.Unrecorded.OOMs > 0:
		return ""
	case more == 0:
		return "A program that goes on without that memory has no other request that fails."
	}
	return fmt.Sprintf("A program that goes on without that memory is out of memory %s more.", times(more))
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// noSettingHelps is the advice if there is an OOM under all settings.
func (c *Comparison) noSettingHelps(best *Prediction) string {
	if peak := c.Workload.peakRequested(); peak > c.Limit && c.Limit > 0 {
		return fmt.Sprintf("No setting can help: at one time the requested sizes of all allocations add up to %s, more than the limit. The program needs smaller batches, or must free memory earlier.", spec.FormatSize(peak))
	}
	text := fmt.Sprintf("The run is out of memory under all of the settings; %s gets furthest, to request %d", nameInText(best.Settings), best.FirstOOM.Number)
	if c.NeededLimit > 0 {
		text += fmt.Sprintf(", and would need a limit of %s", spec.FormatSize(c.NeededLimit))
		if c.neededMayBeAllowed() {
			text += ". The limit of the recorded run may have been that large: if so, these settings avoid the failure"
		}
	}
	return text + "."
}

// better reports whether a prediction is enough of an improvement to change settings for.
func better(best, now *Prediction) bool {
	return now.OOMRuns > 0 || now.Retries > best.Retries || best.PeakReserved+best.PeakReserved/worthwhile < now.PeakReserved
}

// reason explains why settings reserve less.
func reason(p, now *Prediction) string {
	c, err := settings.Parse(p.Settings, spec.DefaultGeometry())
	switch {
	case err != nil || now == nil:
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

// exactness states whether the statistics of a prediction are exact, and why not.
func (c *Comparison) exactness(p *Prediction) string {
	if p.Exact() {
		return "These statistics are exact, provided that the program makes the same requests: every allocation of the recorded run is reproduced, and nothing that the history does not record makes a difference."
	}
	var reasons []string
	for _, r := range p.InexactReasons {
		reasons = append(reasons, r.explain(c.Workload))
	}
	text := "These statistics are not exact: " + strings.Join(reasons, "; ") + "."
	if p.OOMRuns > 0 && p.OOMRuns < p.Runs {
		text += fmt.Sprintf(" In %d of %d runs, under different assumptions, a request fails.", p.OOMRuns, p.Runs)
	}
	return text
}

func (r InexactReason) explain(w *Workload) string {
	switch r {
	case DriverAddresses:
		return "they depend on the addresses that the driver returns"
	case StreamTiming:
		return fmt.Sprintf("%d frees had to wait for other streams, and how long that takes differs from run to run (from no time to four times as long was assumed)", w.Unrecorded.PendingFrees)
	case PoolMembership:
		return "there are private pools, and the history does not record when captures were under way"
	case MissingStart:
		return fmt.Sprintf("the beginning of the history is missing, and %s was allocated before", spec.FormatSize(w.allocatedAtStart()))
	case FailedRequests:
		return fmt.Sprintf("requests that failed in the recorded run (%d) may have been followed by others if they had not", w.Unrecorded.OOMs)
	case ChangedSettings:
		return "the program changed the settings while it ran, and that is not repeated"
	case EmptyCacheCalls:
		return "the program called empty_cache, and calls that freed no segment are not recorded"
	}
	return "not every allocation of the recorded run is reproduced"
}

func (w *Workload) allocatedAtStart() uint64 {
	sum := uint64(0)
	for i := range w.InitialSegments {
		sum += w.InitialSegments[i].AllocatedSize
	}
	return sum
}
