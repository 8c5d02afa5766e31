package conformance

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The end of a program: it joins and ends its captures, lets all work complete, frees
// everything and empties the cache. Then the device must have every byte again, and must hold
// nothing of the allocator's.

// windDown performs the end and looks what is left. A driver that has been lost
// takes nothing back; then only the structures must be sound.
func (t *Trial) windDown() (f *Failure) {
	defer t.catch(&f)
	if t.lost {
		return t.checkAll()
	}
	// Each operation makes the next one possible, so they are found one by one.
	done := 0
	for op, more := t.program.lastThings(); more; op, more = t.program.lastThings() {
		if done++; done > longestEnd {
			return t.fail(classNoWayOut, "a program does not come to its end, the last that it did was to %s", op.InWords())
		}
		if !t.program.Prepare(&op) {
			return t.fail(classNoWayOut, "a program at its end may not %s", op.Kind)
		}
		if f := t.insist(op); f != nil {
			return f
		}
	}
	if t.program.area.contract.DestroysStreams { // which may have work that the program cannot wait for any more
		for dev := range spec.Device(t.header.Devices) {
			_ = t.player.GPU().SynchronizeDevice(dev)
		}
	}
	if full, able := t.player.Allocator().(FullEnder); !able || !full.EndsFull() {
		if f := t.insist(trace.Op{Kind: trace.OpEmptyCache}); f != nil {
			return f
		}
	}
	if f := t.checkAll(); f != nil {
		return f
	}
	return t.checkLeaks()
}

// A FullEnder is an allocator that has to give everything back when it is closed, also if its cache has not been
// emptied. EndsFull says that this program ends so.
type FullEnder interface{ EndsFull() bool }

// longestEnd is more operations than any program needs to put everything away.
const longestEnd = 100_000

// insist performs an operation until it succeeds. It may fail for a fault that was
// planned and has only now come, and for no other reason.
func (t *Trial) insist(op trace.Op) *Failure {
	const attempts = 3
	for range attempts {
		if f := t.step(op); f != nil {
			return f
		}
		if t.skipped {
			return t.fail(classHistory, "%s names something that no longer exists", op.Kind)
		}
		if t.answered == nil {
			return nil
		}
		if kindOf(op.Kind).failsForGood {
			return nil
		}
	}
	if refused := classLegal(op.Kind); t.overlooks(refused) && !t.driverError(t.answered) {
		return t.failure(refused, "it goes on") // which is known
	}
	return t.fail(classNothing, "%s goes on failing: %v", op.Kind, t.answered)
}

// stage is when in a program's end something is put away.
type stage int

const (
	stageCaptures stage = iota + 1 // first: only captures keep other things from being put away
	stageStreams
	stagePools
	stageGraphs
	stageShared
	stageMemory
)

// ending puts away, operation by operation, what a program has for having performed
// operations of a kind; more is false when there is nothing left of it.
type ending struct {
	stage stage
	next  func(p *Program) (op trace.Op, more bool)
}

// endings are those of all kinds, by stage.
var endings = func() (list []ending) {
	for _, name := range trace.OpKinds() {
		if e := kindOf(name).atEnd; e.next != nil {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b ending) int { return cmp.Compare(a.stage, b.stage) })
	return list
}()

// lastThings is the next thing to be put away; more is false when there is none.
func (p *Program) lastThings() (op trace.Op, more bool) {
	for _, e := range endings {
		if op, more := e.next(p); more {
			return op, true
		}
	}
	return trace.Op{}, false
}

// checkLeaks closes the allocator, if it can be closed, and looks what the devices
// still have given.
func (t *Trial) checkLeaks() *Failure {
	if allocator, able := t.player.Allocator().(interface{ Close() error }); able {
		var err error
		for range 3 {
			if err = allocator.Close(); err == nil || !t.driverError(err) {
				break
			}
		}
		if err != nil {
			return t.fail(classUnreleased, "%v", err)
		}
	}
	for dev := range t.header.Devices {
		stats, err := t.player.Allocator().Stats(spec.Device(dev))
		if errors.Is(err, spec.ErrNotSupported) {
			continue
		}
		if held := stats.ReservedBytes[spec.Aggregate].Current; err != nil || held != 0 {
			if f := t.fail("not returned", "device %d: %d bytes are reserved at the end (%v)", dev, held, err); f != nil {
				return f
			}
		}
	}
	if err := t.player.Close(); err != nil {
		return t.fail("not returned", "%v", err)
	}
	if keeper, able := t.player.Allocator().(Keeper); able && keeper.Keeps() != nil {
		return t.checkKeeps(keeper.Keeps())
	}
	if t.options.mayKeep > 0 {
		return t.checkKeeps(nil)
	}
	if leaks := t.options.keeps.leaked(t.player.Leaks()); len(leaks) > 0 {
		return t.fail("leak", "at the end the driver still has: %s (%d such things)", leaks[0], len(leaks))
	}
	return nil
}

// A Keeper is an allocator that may keep at the end what it had when it was warm.
type Keeper interface {
	// Keeps are the bytes of each device; nil: it says nothing.
	Keeps() []uint64
}

// checkKeeps looks whether no more is kept than the allocator may keep: as many bytes beside those of
// the options.
func (t *Trial) checkKeeps(warm []uint64) *Failure {
	for dev := range t.header.Devices {
		may := t.options.mayKeep
		if dev < len(warm) {
			may += warm[dev]
		}
		if held := t.player.GPU().InUse(spec.Device(dev)); held > may {
			return t.fail("leak", "at the end device %d has %d bytes in use; %d may be kept", dev, held, may)
		}
	}
	return nil
}

// leaked are those of the things that the driver still has which the allocator should have
// returned.
func (k Kept) leaked(left []string) []string {
	switch k {
	case KeepsAll:
		return nil
	case KeepsNoMemory:
		return slices.DeleteFunc(left, func(what string) bool {
			reserved := strings.HasPrefix(what, "reserved range") && !strings.HasSuffix(what, " 0 pages mapped")
			return !reserved && !strings.HasPrefix(what, "memory") && !strings.HasPrefix(what, "page ")
		})
	}
	return left
}
