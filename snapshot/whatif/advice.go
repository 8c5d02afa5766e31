package whatif

import (
	"cmp"
	"fmt"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// Advice is what a study comes to, in a few sentences: what happens as things are,
// what to export instead and why, and how sure that is.
func (s *Study) Advice() string {
	best, now := s.Choice(), s.present()
	var text []string
	add := func(sentences ...string) { text = append(text, sentences...) }
	if failing := cmp.Or(now, best); failing.First != nil {
		add(s.failure(failing), s.afterwards(failing))
	}
	switch {
	case best.First != nil:
		add(s.hopeless(best))
	case now != nil && !better(best, now):
		add(fmt.Sprintf("None of the settings is clearly better than %s: with those the run %s.", called(now.Settings), holds(now)))
	default:
		add(fmt.Sprintf("The best of what was tried is %s: with it the run %s.", called(best.Settings), holds(best)))
		if now != nil && now.First == nil {
			add(fmt.Sprintf("With %s it %s.", called(now.Settings), holds(now)))
		}
		add(reason(best, now))
	}
	if best.First == nil && best.Retries > 0 {
		add(fmt.Sprintf("It is short of memory all the same: %s it returns its whole cache and waits for the device.", times(best.Retries)))
	}
	add(s.certainty(best))
	return strings.Join(nonempty(text), " ")
}

// Export is the line for a shell that the advice comes to, "" if it is to leave
// everything as it is.
func (s *Study) Export() string {
	best, now := s.Choice(), s.present()
	if best.First != nil && !s.mayBeEnough() || best == now || now != nil && !better(best, now) {
		return ""
	}
	if strings.ContainsAny(best.Settings, "[]<>") {
		return "export PYTORCH_ALLOC_CONF='" + best.Settings + "'"
	}
	return "export PYTORCH_ALLOC_CONF=" + best.Settings
}

func nonempty(text []string) []string {
	var kept []string
	for _, t := range text {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

// mayBeEnough reports whether the settings of the choice, which fail under the limit
// that is assumed, may survive the one that the run had.
func (s *Study) mayBeEnough() bool {
	b := s.History.Limit
	return s.Needed > 0 && b.Refused() && !b.Known() && s.Needed <= b.Most && s.Limit == b.Least
}

// present is the row of the settings that the recorded run had, or else of the
// default ones; nil if neither was tried.
func (s *Study) present() *Row {
	for _, settings := range []string{s.History.settings(), ""} {
		for i := range s.Rows {
			if sameSettings(s.Rows[i].Settings, settings) {
				return &s.Rows[i]
			}
		}
	}
	return nil
}

// called is what a sentence calls settings.
func called(settings string) string {
	if settings == "" {
		return "the default settings"
	}
	return settings
}

// holds says what a run that ends well takes.
func holds(r *Row) string {
	return fmt.Sprintf("holds at most %s, of which %s is given out at the peak", r.Range.text(), spec.FormatSize(r.PeakAllocated))
}

// text gives a range in words.
func (r Range) text() string {
	low, high := spec.FormatSize(r.Low), spec.FormatSize(r.High)
	if low == high {
		return high
	}
	return low + " to " + high
}

// failure says which request failed first, and how things were then.
func (s *Study) failure(r *Row) string {
	f := r.First
	text := fmt.Sprintf("With %s%s the run is out of memory at request %d of %d, which asks for %s",
		called(r.Settings), under(r.Limit), f.Number, s.History.Mallocs, spec.FormatSize(f.Bytes))
	if stack := s.History.Entry(&s.History.Requests[f.Request]).Context.Stack; len(stack) > 0 {
		frame := stack[len(stack)-1]
		for _, candidate := range stack { // the innermost frame of the program's own
			if !strings.Contains(candidate.File, "site-packages") {
				frame = candidate
				break
			}
		}
		text += fmt.Sprintf(" (%s:%d, %s)", frame.File, frame.Line, frame.Name)
	}
	text += fmt.Sprintf(": %s is held and %s of it given out", spec.FormatSize(f.Reserved), spec.FormatSize(f.Allocated))
	if free := f.Reserved - f.Allocated; free > 0 {
		text += fmt.Sprintf(", and of the %s that is free no piece is larger than %s", spec.FormatSize(free), spec.FormatSize(f.LargestFree))
	}
	return text + "."
}

func under(limit uint64) string {
	if limit == 0 {
		return ""
	}
	return " and a limit of " + spec.FormatSize(limit)
}

// afterwards says what happens if the program survives that.
func (s *Study) afterwards(r *Row) string {
	more := r.Beyond.OOMs - r.OOMs
	switch {
	case s.History.Unknown.Failed > 0:
		return ""
	case more == 0:
		return "A program that goes on without it gets everything else."
	}
	return fmt.Sprintf("A program that goes on without it fails %s more.", times(more))
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// hopeless is what is said when every setting fails.
func (s *Study) hopeless(best *Row) string {
	if least := s.History.leastPeak() + 1; least > s.Limit && s.Limit > 0 {
		return fmt.Sprintf("No setting can help: at one time the program has asked for %s, more than the limit. It needs smaller batches, or memory that it gives back earlier.", spec.FormatSize(least))
	}
	text := fmt.Sprintf("None of the settings saves the run; %s gets furthest, to request %d", called(best.Settings), best.First.Number)
	if s.Needed > 0 {
		text += fmt.Sprintf(", and would need a limit of %s", spec.FormatSize(s.Needed))
		if s.mayBeEnough() {
			text += ". The run may have had that much: if so, these settings save it"
		}
	}
	return text + "."
}

// better reports whether a row is enough of an improvement to change anything for.
func better(best, now *Row) bool {
	return now.Failing > 0 || now.Retries > best.Retries || best.PeakReserved+best.PeakReserved/worthwhile < now.PeakReserved
}

// reason says how settings come to hold less.
func reason(r, now *Row) string {
	c, err := settings.Parse(r.Settings, spec.DefaultGeometry())
	switch {
	case err != nil || now == nil:
		return ""
	case c.ExpandableSegments:
		return "Segments that expand are why: memory is mapped page by page behind one range of addresses, so what is free in one place joins what is free beside it and serves larger requests; segments of fixed size leave it in pieces that no later request fits."
	case c.MaxSplitSize != spec.Unlimited:
		return fmt.Sprintf("The reason is that blocks of %s and more are not cut up by smaller requests, so they can be used again whole, or be returned.", spec.FormatSize(c.MaxSplitSize))
	case c.Divisions != [spec.NumDivisions]uint64{}:
		return "The reason is that requests are rounded to fewer different sizes, so that blocks fit again more often."
	case c.GarbageCollectionThreshold > 0:
		return "The reason is that cached segments which have not been used for long are returned before the limit is met."
	}
	return "The reason is that segments have another size, which suits these requests better."
}

// certainty says how sure the figures of a row are.
func (s *Study) certainty(r *Row) string {
	if r.Exact() {
		return "These figures are exact, provided that the program asks for the same: the recorded run comes out allocation by allocation, and nothing that the snapshot leaves open makes a difference."
	}
	var doubts []string
	for _, d := range r.Doubts {
		doubts = append(doubts, d.explain(s.History))
	}
	text := "These figures are not exact: " + strings.Join(doubts, "; ") + "."
	if r.Failing > 0 && r.Failing < r.Runs {
		text += fmt.Sprintf(" Under %d of %d guesses the run fails.", r.Failing, r.Runs)
	}
	return text
}

// explain says in words what a doubt is about.
func (d Doubt) explain(h *History) string {
	switch d {
	case ByAddress:
		return "they depend on the addresses that the driver gives"
	case ByStreams:
		return fmt.Sprintf("%d frees waited for other streams, and how long that takes differs from run to run (from not at all to four times as long was tried)", h.Unknown.Held)
	case ByPools:
		return "there are private pools, and the snapshot does not say when captures were under way"
	case ByStart:
		return fmt.Sprintf("the record begins in the middle, with %s given out, and tells only what happened since", spec.FormatSize(h.allocatedAtStart()))
	case ByFailures:
		return fmt.Sprintf("requests that failed in the recorded run (%d) may have been followed by others if they had not", h.Unknown.Failed)
	case BySettings:
		return "the program changed the settings on its way, which is left out"
	case ByEmptyCache:
		return "the program emptied its cache, and where that had no effect it is not recorded"
	}
	return "the recorded run does not come out as it was recorded"
}

func (h *History) allocatedAtStart() uint64 {
	sum := uint64(0)
	for i := range h.Start {
		sum += h.Start[i].AllocatedSize
	}
	return sum
}
