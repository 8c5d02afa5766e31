package bounded

import (
	"maps"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
)

// TwoStepMalloc is TwoStepMalloc.tla: CachingAllocator with threads whose mallocs release
// the lock during the driver call.
type TwoStepMalloc struct {
	*CachingAllocator
	threads               []uint64
	search, grant, resume action
}

// openTwoStepMalloc opens the module, or that of a module that has others constants beside.
func openTwoStepMalloc(c *tlc.Config, others ...string) (*TwoStepMalloc, error) {
	b, err := ReadBounds(c, append(others, "Threads")...)
	if err != nil {
		return nil, err
	}
	t := &TwoStepMalloc{CachingAllocator: newCachingAllocator(b)}
	r := constants{config: c}
	t.threads = r.names("Threads")
	initial := b.initial()
	initial.Config.ReleaseLockOnMalloc = true
	t.keys = keys{module: t, initial: initial, names: symmetries(b.Streams, nil, nil, t.threads)}
	threads := asInts(t.threads)
	t.search = t.add("MallocSearch", threads, asInts(b.Streams), asInts(b.Sizes))
	t.grant = t.add("DriverMalloc", threads)
	t.resume = t.add("MallocResume", threads)
	return t, r.err
}

// Next implements explore.Specification. No malloc is one step.
func (t *TwoStepMalloc) Next(s *model.State, yield func(label int, next *model.State)) {
	t.CachingAllocator.nextExceptMalloc(s, yield)
	for i, thread := range t.threads {
		at := slices.IndexFunc(s.PendingMallocs, func(c model.PendingMalloc) bool { return c.ID == int(thread) })
		if at >= 0 {
			c := &s.PendingMallocs[at]
			next, r, _ := s.MallocResume(int(thread), atLowest)
			t.hold(&next, r, c.Stream, c.RequestedSize)
			label := t.grant.label(i)
			if s.PendingMallocs[at].DriverAnswered() {
				label = t.resume.label(i)
			}
			yield(label, &next)
			continue
		}
		for j, stream := range t.Streams {
			for k, size := range t.Sizes {
				next, r, _ := s.MallocSearch(int(thread), stream, size, atLowest)
				t.hold(&next, r, stream, size)
				yield(t.search.label(i, j, k), &next)
			}
		}
	}
}

// Text implements Module. tla/TwoStepMalloc.tla explains the variable.
func (t *TwoStepMalloc) Text(to []byte, s *model.State) []byte {
	w := newWriter(s)
	t.variables(w)
	w.variable("calls", func() { w.Set(len(s.PendingMallocs), func(i int) { w.call(&s.PendingMallocs[i]) }) })
	return w.finish(to)
}

func (w *writer) call(c *model.PendingMalloc) {
	w.Raw("[asked|->")
	w.Bool(c.DriverAnswered())
	w.field(",attempt", c.Attempt())
	w.field(",bytes", int(c.RequestedSize))
	w.Raw(",granted|->{")
	if granted := c.Granted(); granted.Bytes > 0 {
		w.grant(model.Grant{Memory: granted, Stream: c.Stream})
	}
	w.field("},stream", int(c.Stream))
	w.field(",thread", c.ID)
	w.Raw("]")
}

func (t *TwoStepMalloc) property(name string, fair [][]int, to *explore.Options[*model.State]) bool {
	switch name {
	case "MallocsEnd":
		to.LeadsTo = append(to.LeadsTo, t.mallocsEnd(fair)...)
	case "LimitHolds": // of what is registered
		to.Invariants = append(to.Invariants, explore.Invariant[*model.State]{
			Name: name, Holds: func(s *model.State) bool { return s.Reserved() <= t.Limit },
		})
	case "AllIsReturnedAtLast":
		holdsOfSteps(to, name, t.allIsReturnedAtLast)
	case "DriverServes":
		holdsOfSteps(to, name, t.driverServes)
	case "GrantIsUsed":
		holdsOfSteps(to, name, t.grantIsUsed)
	default:
		return t.CachingAllocator.property(name, fair, to)
	}
	return true
}

// always implements Module. MallocsAreServed is not in it: a malloc may fail because of
// segments that other threads have not registered yet.
func (t *TwoStepMalloc) always() []string {
	names := slices.Sorted(maps.Keys(invariants))
	names[slices.Index(names, "NothingIsLost")] = "NothingIsLostOnTheWay"
	return append(names, "AllIsReturnedAtLast", "DriverServes", "GrantIsUsed", "BlocksFitRequests", "EmptyCacheReleasesAll")
}

// pendingOf is the pending malloc of a thread; nil if it has none.
func pendingOf(s *model.State, thread int) *model.PendingMalloc {
	i := slices.IndexFunc(s.PendingMallocs, func(c model.PendingMalloc) bool { return c.ID == thread })
	if i < 0 {
		return nil
	}
	return &s.PendingMallocs[i]
}

// allIsReturnedAtLast: before the last attempt of a malloc all is returned that the program does
// not hold, and that no other malloc has obtained. There is a last attempt, unless the limit
// forbids it.
func (t *TwoStepMalloc) allIsReturnedAtLast(from *model.State, label int, to *model.State) bool {
	for i, thread := range t.threads {
		call, now := pendingOf(from, int(thread)), pendingOf(to, int(thread))
		bytes, isOf := t.requestOf(i, label)
		if call != nil {
			bytes, isOf = call.RequestedSize, label == t.resume.label(i) && call.Attempt() < 3
		}
		if !isOf || len(to.Truth.Held) > len(from.Truth.Held) || now != nil && now.Attempt() < 3 {
			continue
		}
		pending := uint64(0)
		for j := range to.PendingMallocs {
			pending += to.PendingMallocs[j].Granted().Bytes
		}
		if granted(to) != kept(to)+pending {
			return false
		}
		if now == nil && granted(to)-pending+t.segmentFor(bytes) <= t.Limit {
			return false
		}
	}
	return true
}

// requestOf is the request of a label that is the begin of a malloc of a thread.
func (t *TwoStepMalloc) requestOf(thread, label int) (bytes uint64, is bool) {
	for j := range t.Streams {
		for k, size := range t.Sizes {
			if label == t.search.label(thread, j, k) {
				return size, true
			}
		}
	}
	return 0, false
}

// driverServes: the driver's call of a malloc obtains the segment that the request needs, if there
// is memory for it. What it has obtained serves the request.
func (t *TwoStepMalloc) driverServes(from *model.State, label int, to *model.State) bool {
	for i, thread := range t.threads {
		call := pendingOf(from, int(thread))
		if call == nil {
			continue
		}
		need := t.segmentFor(call.RequestedSize)
		switch label {
		case t.grant.label(i):
			hasRoom := granted(from)+need <= t.Memory
			if hasRoom && granted(to) != granted(from)+need || !hasRoom && granted(to) != granted(from) {
				return false
			}
		case t.resume.label(i):
			if call.Granted().Bytes > 0 && len(to.Truth.Held) != len(from.Truth.Held)+1 {
				return false
			}
		}
	}
	return true
}

// grantIsUsed: what a malloc has obtained serves it, and not other memory.
func (t *TwoStepMalloc) grantIsUsed(from *model.State, label int, to *model.State) bool {
	for i, thread := range t.threads {
		call := pendingOf(from, int(thread))
		if call == nil || label != t.resume.label(i) || call.Granted().Bytes == 0 {
			continue
		}
		isElsewhere := func(h model.Held) bool {
			return !slices.Contains(from.Truth.Held, h) && h.Ptr != call.Granted().Ptr
		}
		if slices.ContainsFunc(to.Truth.Held, isElsewhere) {
			return false
		}
	}
	return true
}

// mallocsEnd: every thread with a pending malloc has none later.
func (t *TwoStepMalloc) mallocsEnd(fair [][]int) (list []explore.LeadsTo[*model.State]) {
	for _, thread := range t.threads {
		isPending := func(s *model.State) bool {
			return slices.ContainsFunc(s.PendingMallocs, func(c model.PendingMalloc) bool { return c.ID == int(thread) })
		}
		list = append(list, explore.LeadsTo[*model.State]{
			Name: "MallocsEnd", Fair: fair,
			From: isPending, To: func(s *model.State) bool { return !isPending(s) },
		})
	}
	return list
}

// fairness implements Module.
func (t *TwoStepMalloc) fairness(specification string) (fair [][]int, known bool) {
	if specification != "FairSpec" {
		return nil, specification == "Spec"
	}
	for i := range t.threads {
		fair = append(fair, []int{t.grant.label(i)}, []int{t.resume.label(i)})
	}
	return fair, true
}
