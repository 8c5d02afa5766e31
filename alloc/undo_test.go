package alloc_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// What an operation calls after one of its driver calls has failed: to undo what it has done, or
// since it goes on. These calls can fail as well.

// wantAfterFailure lists, for each sequence of calls that fail in one operation, what is left of
// pages after it: how many are kept, that is neither mapped nor released, and of pages that are
// imported how many stay mapped. docs/verification.md explains them.
var wantAfterFailure = []string{
	"empty: FreeAddress, then FreeAddress: 0 kept",
	"empty: ReleasePage, then MapPage: 0 kept",
	"empty: ReleasePage, then MapPage, then ReleasePage: 1 kept",
	"empty: ReleasePage, then SetAccess: 0 kept",
	"empty: ReleasePage, then SetAccess, then ReleasePage: 1 kept",
	"empty: ReleasePage, then SetAccess, then UnmapPage: 0 kept",
	"import: ImportPage, then ReleasePage: 1 kept",
	"import: ImportPage, then ReleasePage, then ReleasePage: 2 kept",
	"import: MapPage, then FreeAddress: 0 kept",
	"import: MapPage, then ReleasePage: 1 kept",
	"import: MapPage, then ReleasePage, then FreeAddress: 1 kept",
	"import: MapPage, then ReleasePage, then ReleasePage: 2 kept",
	"import: MapPage, then UnmapPage: 0 kept, 1 mapped; 0 kept, 2 mapped",
	"import: MapPage, then UnmapPage, then ReleasePage: 1 kept, 1 mapped; 1 kept, 2 mapped",
	"import: ReserveAddress, then ReleasePage: 1 kept",
	"import: ReserveAddress, then ReleasePage, then ReleasePage: 2 kept",
	"import: SetAccess, then FreeAddress: 0 kept",
	"import: SetAccess, then ReleasePage: 1 kept",
	"import: SetAccess, then ReleasePage, then FreeAddress: 1 kept",
	"import: SetAccess, then ReleasePage, then ReleasePage: 2 kept",
	"import: SetAccess, then UnmapPage: 0 kept, 1 mapped; 0 kept, 2 mapped; 0 kept, 3 mapped",
	"import: SetAccess, then UnmapPage, then ReleasePage: 1 kept, 1 mapped; 1 kept, 2 mapped",
	"malloc: CreatePage, then ReleasePage: 0 kept",
	"malloc: CreatePage, then ReleasePage, then MapPage: 0 kept",
	"malloc: CreatePage, then ReleasePage, then ReleasePage: 0 kept",
	"malloc: CreatePage, then ReleasePage, then SetAccess: 0 kept",
	"malloc: MapPage, then ReleasePage: 1 kept",
	"malloc: MapPage, then ReleasePage, then ReleasePage: 2 kept",
	"malloc: MapPage, then UnmapPage: 0 kept",
	"malloc: MapPage, then UnmapPage, then ReleasePage: 1 kept",
	"malloc: ReleasePage, then MapPage: 0 kept",
	"malloc: ReleasePage, then MapPage, then ReleasePage: 1 kept",
	"malloc: ReleasePage, then ReleasePage: 0 kept",
	"malloc: ReleasePage, then ReleasePage, then MapPage: 0 kept",
	"malloc: ReleasePage, then ReleasePage, then ReleasePage: 0 kept",
	"malloc: ReleasePage, then ReleasePage, then SetAccess: 0 kept",
	"malloc: ReleasePage, then SetAccess: 0 kept",
	"malloc: ReleasePage, then SetAccess, then ReleasePage: 1 kept",
	"malloc: ReleasePage, then SetAccess, then UnmapPage: 0 kept",
	"malloc: SetAccess, then ReleasePage: 1 kept",
	"malloc: SetAccess, then ReleasePage, then ReleasePage: 2 kept",
	"malloc: SetAccess, then UnmapPage: 0 kept",
	"malloc: SetAccess, then UnmapPage, then ReleasePage: 1 kept",
	"unimport: ReleasePage, then MapPage: 0 kept",
	"unimport: ReleasePage, then MapPage, then ReleasePage: 1 kept",
	"unimport: ReleasePage, then SetAccess: 0 kept",
	"unimport: ReleasePage, then SetAccess, then ReleasePage: 1 kept",
	"unimport: ReleasePage, then SetAccess, then UnmapPage: 0 kept",
}

// TestFailuresWhileUndoing runs programs with a failing driver call, and again for each call that
// the same operation makes after it, which fails too, and so on up to three. The operation reports
// every failure, and everything is as after one: the invariants hold, what the allocator counts is
// what the device has allocated, but for pages that are kept, and in the end nothing is lost,
// although the next release of such a page fails as well.
func TestFailuresWhileUndoing(t *testing.T) {
	u := undoing{most: 3, seen: map[string][]string{}}
	u.search(t)
	var got []string
	for _, calls := range slices.Sorted(maps.Keys(u.seen)) {
		slices.Sort(u.seen[calls])
		got = append(got, fmt.Sprintf("%s: %s", calls, strings.Join(u.seen[calls], "; ")))
	}
	if diff := cmp.Diff(wantAfterFailure, got); diff != "" {
		t.Errorf("after failures in one operation (-want +got):\n%s", diff)
	}
}

// TestNoMemoryWhileUndoing is the same for calls that fail for lack of memory, if they can: a
// malloc goes on after that, and the operation need not report it.
func TestNoMemoryWhileUndoing(t *testing.T) {
	u := undoing{most: 2, noMemory: true, seen: map[string][]string{}}
	u.search(t)
}

// search runs the programs with each call failing.
func (u *undoing) search(t *testing.T) {
	for _, program := range []func(*faultRun){(*faultRun).program, (*faultRun).importProgram, (*faultRun).addressesProgram} {
		for _, call := range callsOf(t, program) {
			for nth := 1; nth <= int(call.Count); nth++ {
				if call.Call != "CreatePage" || nth > 1 { // the first only says that there are no fabric handles
					u.extend(t, program, []plannedFailure{{call.Call, nth}})
				}
			}
		}
	}
	t.Logf("%d runs", u.runs)
}

// callsOf are the driver calls that a program makes.
func callsOf(t *testing.T, program func(*faultRun)) []fakegpu.CallCount {
	r := newFaultRun(t, "expandable_segments:True")
	r.slack = importedBytes
	program(r)
	r.finish()
	return slices.DeleteFunc(r.gpu.Calls(), func(c fakegpu.CallCount) bool { return isTestsOwn(c.Call) })
}

// isTestsOwn reports whether the test itself makes a call.
func isTestsOwn(call string) bool {
	return slices.Contains([]string{"MemInfo", "Properties", "CreateStream", "Launch"}, call)
}

// plannedFailure is the number of a call that fails, from 1.
type plannedFailure struct {
	call string
	nth  int
}

// undoing is a search for the calls that follow a failure.
type undoing struct {
	most     int  // failures in a run
	noMemory bool // calls fail for lack of memory that can
	runs     int
	seen     map[string][]string // by the operation and the calls that fail: what is left
}

// fault is the error of a call that fails.
func (u *undoing) fault(call string) error {
	if no := fakegpu.OutOfMemory(call); u.noMemory && slices.ContainsFunc(fakegpu.PossibleFaults(call), func(err error) bool { return err.Error() == no.Error() }) {
		return no
	}
	return fakegpu.UnknownError(call)
}

// extend runs a program with some failures, and then with each that can follow in the same
// operation.
func (u *undoing) extend(t *testing.T, program func(*faultRun), failures []plannedFailure) {
	after := u.run(t, program, failures)
	if len(failures) == u.most {
		return
	}
	for _, next := range after {
		u.extend(t, program, append(slices.Clone(failures), next))
	}
}

// run runs a program with failures of one operation, and returns the calls that the operation makes
// after the last.
func (u *undoing) run(t *testing.T, program func(*faultRun), failures []plannedFailure) (after []plannedFailure) {
	t.Helper()
	u.runs++
	var driver *panickingDriver
	r := newFaultRunAround(t, "expandable_segments:True", func(g *fakegpu.GPU) spec.Driver {
		driver = &panickingDriver{GPU: g, hit: func(string) {}}
		return driver
	})
	r.slack = uint64(len(failures))*20*mib + importedBytes
	var calls []string
	for _, f := range failures {
		must(t, r.gpu.FailCall(f.call, f.nth, u.fault(f.call)))
		calls = append(calls, f.call)
	}
	r.name = strings.Join(calls, ", ")
	var atLast map[string]uint64 // how often each call was made until the last failure
	driver.failed = func() {
		if r.gpu.PendingFaults() == 0 && atLast == nil {
			atLast = countsOf(r.gpu)
		}
	}
	checked := false
	r.call = func(do func() error) error {
		pending := r.gpu.PendingFaults()
		err := do()
		if pending == 0 || r.gpu.PendingFaults() > 0 || atLast == nil || checked {
			return err
		}
		checked = true
		for _, c := range r.gpu.Calls() {
			for nth := atLast[c.Call] + 1; nth <= c.Count && !isTestsOwn(c.Call); nth++ {
				after = append(after, plannedFailure{c.Call, int(nth)})
			}
		}
		u.check(r, calls, err)
		return err
	}
	program(r)
	r.finish()
	return after
}

// check checks what the operation has returned in which the calls failed.
func (u *undoing) check(r *faultRun, calls []string, err error) {
	r.t.Helper()
	for _, call := range calls {
		isNoMemory := errors.Is(u.fault(call), spec.ErrDriverOutOfMemory)
		if !isNoMemory && (err == nil || !strings.Contains(err.Error(), "driver: "+call+": ")) {
			r.t.Errorf("%s fail, and %s returns %v", r.name, r.what, err)
		}
	}
	operation, _, _ := strings.Cut(r.what, " ")
	if len(calls) == 1 || operation == "close" { // Close goes on with what there is to release
		return
	}
	left := pagesLeft(r.gpu)
	if left.created > left.mapped { // nor can they be released when the cache is
		must(r.t, r.gpu.FailCall("ReleasePage", 1, fakegpu.UnknownError("ReleasePage")))
	}
	outcome := fmt.Sprintf("%d kept", left.created-left.mapped)
	if operation == "import" && left.mapped > 0 {
		outcome += fmt.Sprintf(", %d mapped", left.mapped)
	}
	key := operation + ": " + strings.Join(calls, ", then ")
	if !slices.Contains(u.seen[key], outcome) {
		u.seen[key] = append(u.seen[key], outcome)
	}
}

// pages are those that a process has.
type pages struct{ created, mapped int }

func pagesLeft(gpu *fakegpu.GPU) (p pages) {
	for _, line := range gpu.Leaks() {
		if strings.HasPrefix(line, "page ") {
			p.created++
		}
		if _, text, is := strings.Cut(line, ", "); is && strings.HasPrefix(line, "reserved range: ") {
			n := 0
			fmt.Sscanf(text, "%d pages mapped", &n)
			p.mapped += n
		}
	}
	return p
}

func countsOf(gpu *fakegpu.GPU) map[string]uint64 {
	counts := map[string]uint64{}
	for _, c := range gpu.Calls() {
		counts[c.Call] = c.Count
	}
	return counts
}

// importedBytes is how much importProgram imports.
const importedBytes = 60 * mib

// importProgram opens the pages of another process.
func (r *faultRun) importProgram() {
	owner := r.machine.NewProcess()
	a, err := alloc.New(owner, alloc.Options{Settings: "expandable_segments:True"})
	must(r.t, err)
	p := mustMalloc(r.t, a, 0, importedBytes)
	handle := share(r.t, a, p)
	r.elsewhere[0] = importedBytes
	r.try("peer access", func() error { return r.a.EnablePeerAccess(1, 0) })
	for range 2 {
		var m spec.OpenedMemory
		if r.try("import", func() (err error) {
			m, err = r.a.OpenHandle(0, handle.Handle)
			return err
		}) {
			for range 3 {
				if r.try("unimport", m.Close) {
					break
				}
			}
		}
	}
	for range 2 {
		r.try("empty cache", r.a.EmptyCache)
	}
	must(r.t, a.Free(p))
	must(r.t, a.Close())
	r.elsewhere[0] = 0
}

// addressesProgram releases a pool with two segments of which no page could be created.
func (r *faultRun) addressesProgram() {
	pool := spec.PoolID{User: 1}
	r.malloc("all", 0, 200*mib)
	r.try("begin", func() error { return r.a.BeginAllocateToPool(0, pool, r.filter(r.streams[1])) })
	r.malloc("large", 1, 20*mib)
	r.malloc("small", 1, 512)
	r.try("end", func() error { return r.a.EndAllocateToPool(0, pool) })
	r.try("release", func() error { return r.a.ReleasePool(0, pool) })
	r.try("empty cache", r.a.EmptyCache)
	r.free("all")
}
