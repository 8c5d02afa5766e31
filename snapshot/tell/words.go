package tell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// Differences are the reasons in words why a prediction is not exact.
func (c Answer) Differences(p *compare.Prediction) (list []string) {
	for _, r := range p.Reasons {
		list = append(list, c.explain(r, p)...)
	}
	return list
}

// explain says a reason in words.
func (c Answer) explain(r compare.InexactReason, p *compare.Prediction) []string {
	w := c.Workload
	switch r {
	case compare.RunFailed:
		return []string{fmt.Sprintf("the recorded requests cannot be repeated under these settings: %v", p.Err)}
	case compare.DriverAddresses:
		return []string{"they depend on the addresses that the driver returns"}
	case compare.StreamTiming:
		return []string{fmt.Sprintf("%s had to wait for other streams, and how long that takes differs from run to run (from no time up to when the allocator waits for it was assumed)", counted(w.Unrecorded.PendingFrees, "free"))}
	case compare.ReleaseNotTold:
		return []string{"the record may be of another release of PyTorch, which decides otherwise: " + otherReleases(w)}
	case compare.Collectives:
		return []string{"memory is freed when collectives of several processes are done, and when that is differs from run to run: how much other settings reserve cannot be told from one run"}
	case compare.PoolMembership:
		return []string{"there are private pools (graph captures or MemPools), and the history does not record when requests were routed to them"}
	case compare.MissingStart:
		return []string{fmt.Sprintf("the beginning of the history is missing, and %s was allocated before", spec.FormatSize(w.AllocatedAtStart()))}
	case compare.StartBlocks:
		return []string{"how large some blocks were that were allocated before the history begins is not in it, so somewhat more may be allocated at the peak than is told"}
	case compare.FailedRequests:
		return []string{fmt.Sprintf("%s failed in the recorded run and may not fail here: what the program requests after that is not recorded", counted(w.Unrecorded.OOMs, "request"))}
	case compare.OptionalRequests:
		return []string{"a request fails that a program can do without (its memory is freed at once, as a workspace is, or the recorded program went on after failures): it then makes other requests than the recorded ones, up to the limit"}
	case compare.LimitNotTold:
		return []string{c.limitNotTold()}
	case compare.ChangedSettings:
		return []string{"the program changed the settings while it ran, and that is not repeated"}
	case compare.EmptyCacheCalls:
		return []string{"the program called empty_cache, and calls that freed no segment are not recorded"}
	case compare.UnknownRecord:
		return unknown(w)
	case compare.SkippedActions:
		return []string{fmt.Sprintf("%v entries were not recorded (skip_actions), so when other streams used memory cannot be told", w.Unrecorded.Skipped[0])}
	}
	var list []string
	switch n := w.Unrecorded.InconsistentEntries; n {
	case 0:
	case 1:
		list = append(list, "1 entry of the history contradicts others")
	default:
		list = append(list, fmt.Sprintf("%d entries of the history contradict others", n))
	}
	for _, d := range c.Verification.Differences {
		list = append(list, difference(&d))
	}
	return list
}

// difference says what a replay does not reproduce.
func difference(d *play.Difference) string {
	entry := func(e *spec.TraceEntry) string { return fmt.Sprintf("%s of %s", e.Action, spec.FormatSize(e.Size)) }
	switch s := d.Segments[0]; d.Kind {
	case play.EntryAfterEnd:
		return "after the last recorded entry there is " + entry(&d.Replayed)
	case play.OtherEntry, play.OtherStream, play.OtherAddress:
		where := map[play.DifferenceKind]string{play.OtherStream: " on another stream", play.OtherAddress: " at another address"}[d.Kind]
		return fmt.Sprintf("entry %d of the record is %s, and its replay has %s%s", d.Entry, entry(&d.Recorded), entry(&d.Replayed), where)
	case play.EntriesMissing:
		return fmt.Sprintf("the last %d entries of the record, the first of them a %s, are not in its replay", d.Count, d.Recorded.Action)
	case play.SegmentNumber:
		return fmt.Sprintf("the snapshot has %d segments, and its replay %d", d.Numbers[0], d.Numbers[1])
	case play.OtherSegment:
		return fmt.Sprintf("the snapshot has %s, and its replay %s", segmentInWords(s), segmentInWords(d.Segments[1]))
	case play.SegmentFigures:
		allocated, active := play.SegmentSums(s)
		return fmt.Sprintf("the snapshot says of a segment of %d bytes that %d are allocated and %d active, and its blocks have %d and %d",
			s.TotalSize, s.AllocatedSize, s.ActiveSize, allocated, active)
	}
	return fmt.Sprintf("the recorded requests cannot be repeated: %v", d.Err)
}

func segmentInWords(s *spec.Segment) string {
	allocated, active := play.SegmentSums(s)
	return fmt.Sprintf("a %s segment of %d bytes in %d blocks, %d bytes allocated and %d active", s.PoolKind, s.TotalSize, len(s.Blocks), allocated, active)
}

// limitNotTold says what the record leaves open of the limit.
func (c Answer) limitNotTold() string {
	w := c.Workload
	b := w.Limit
	limit := "the limit was between " + spec.FormatSize(b.Least) + " and " + spec.FormatSize(b.Most)
	if b.Known() {
		limit = "the limit was " + spec.FormatSize(b.Least)
	}
	doubtful := fmt.Sprintf("cached segments were freed (%s), and the record does not tell whether by empty_cache", times(int64(w.Unrecorded.DoubtfulFrees)))
	switch {
	case w.DoubtfulGarbage:
		return fmt.Sprintf("cached segments were freed, and the record does not tell whether by empty_cache or by garbage collection under a memory fraction of at most %s", spec.FormatSize(b.Most))
	case w.Unrecorded.DoubtfulFrees > 0 && w.Unrecorded.DoubtfulFrees == w.Unrecorded.Refusals:
		return fmt.Sprintf("%s or because a limit between %s and %s was reached", doubtful, spec.FormatSize(b.Least), spec.FormatSize(b.Most))
	case w.RetriesOpen && w.Unrecorded.DoubtfulFrees == 0:
		return "the record does not tell of all freed segments whether they were garbage or those of a refused request; " + limit
	case w.Unrecorded.DoubtfulFrees > 0:
		return doubtful + " or because the limit was reached; " + limit
	case b.Kind == history.UnknownLimit:
		return limit + ", and the record does not tell whether it was a memory fraction or a full device"
	}
	if b.Kind == history.DeviceLimit && b.Known() || c.Given {
		return "what a full device has for the process differs by a few MiB from run to run, and the outcome depends on it"
	}
	return limit + ", and the outcome depends on where"
}

// otherReleases are those that may have made the record as well.
func otherReleases(w *history.Workload) string {
	var names []string
	for _, r := range w.OtherReleases {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// ReleaseNote says whose rules are followed.
func (c Answer) ReleaseNote() string {
	w := c.Workload
	text := fmt.Sprintf("Predicted by the rules of PyTorch %s", w.Release.Name)
	if v := w.Version; v.Least != v.Most && (v.Least > 0 || v.Most < snapshot.Newest) {
		switch {
		case v.Most == snapshot.Newest:
			text += fmt.Sprintf(" (the record is of 2.%d or later)", v.Least)
		default:
			text += fmt.Sprintf(" (the record is of 2.%d to 2.%d)", v.Least, v.Most)
		}
	}
	if len(w.OtherReleases) > 0 {
		differs := slices.ContainsFunc(c.Predictions, func(p compare.Prediction) bool { return slices.Contains(p.Reasons, compare.ReleaseNotTold) })
		text += map[bool]string{true: "; by those of %s, which fit as well, some figures differ", false: "; those of %s fit as well, and the figures are the same"}[differs]
		text = strings.ReplaceAll(text, "%s", otherReleases(w))
	}
	if b := w.Marks.Backend; b != "" {
		text += fmt.Sprintf(". The record is of %s, and the decisions are those of CUDA's allocator", b)
	}
	return text + "."
}

// unknown names what is not known of the record.
func unknown(w *history.Workload) []string {
	var list []string
	for _, u := range w.Unrecorded.Unknown {
		list = append(list, fmt.Sprintf("%s of the history with the action %s, which is not known here", counted(u.Entries, "entry"), strconv.Quote(u.Action)))
	}
	for _, s := range w.Unrecorded.UnknownSettings {
		list = append(list, fmt.Sprintf("the setting %s of the recorded run is not known here", strconv.Quote(s)))
	}
	return list
}

// counted is "1 entry" or "7 entries".
func counted(n int, what string) string {
	if n != 1 {
		what = strings.TrimSuffix(what, "y") + map[bool]string{true: "ies", false: "s"}[strings.HasSuffix(what, "y")]
	}
	return fmt.Sprintf("%d %s", n, what)
}

// holderInWords says who holds memory.
func holderInWords(h *compare.Holder) string {
	text := fmt.Sprintf("%s in %s", spec.FormatSize(h.Bytes), counted(h.Count, "allocation"))
	switch {
	case h.Start:
		return text + " made before the record begins"
	case h.Entry == nil:
		return text + fmt.Sprintf(" of %s each", spec.FormatSize(h.Bytes/uint64(h.Count)))
	}
	return text + " by " + history.Site(h.Entry)
}
