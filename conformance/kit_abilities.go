package conformance

import (
	"errors"
	"fmt"
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
	"gaugeblock/spec/trace"
)

// What an allocator can do is found out by asking it: by its interfaces, and for the
// three methods that every allocator has but may have no answer to, by calling them.
// Programs then have only what it can do, and areas that are all about something else
// are left out.

// essential is what an area is about, where that needs an ability.
var essential = map[string]trace.OpKind{
	"pools": trace.OpPoolBegin, "capture": trace.OpCaptureBegin, "checkpoint": trace.OpRestore, "sharing": trace.OpShare,
}

// discover makes an allocator, asks it what it can do, and lists the areas to search.
func (k *kit) discover() error {
	h := Find("core").header(0, "")
	h.Waits = k.hardware
	player, err := perform.New(&h, k.factory)
	if err != nil {
		return fmt.Errorf("the allocator cannot be made: %w", err)
	}
	a := player.Allocator()
	for _, ability := range perform.Abilities() {
		if !ability.Has(a) && !ability.Other {
			k.report.Lacks = append(k.report.Lacks, ability.Name)
		}
	}
	for _, kind := range trace.OpKinds() {
		if ability := perform.AbilityFor(kind); ability != nil && !ability.Has(a) {
			k.without = append(k.without, kind)
		}
	}
	if k.contract != nil && k.contract.Uses != UsesRecorded {
		k.without = append(k.without, trace.OpRecordStream)
	} else {
		k.without = append(k.without, trace.OpFreeOn)
	}
	k.tryMethods(player)
	if err := k.lookAround(a); err != nil {
		return err
	}
	all := Areas()
	if k.contract != nil {
		all = append(all, k.contract.areas()...)
	}
	if k.level >= Caching {
		all = append(all, &cachingArea)
	}
	for _, area := range all {
		if err := k.fit(area); err != nil {
			return err
		}
	}
	return nil
}

// tryMethods calls the methods that every allocator has. One whose process ends here does so
// again in a program, which will report it.
func (k *kit) tryMethods(player *perform.Player) {
	defer func() {
		reason := recover()
		if _, is := reason.(*Gone); !is && reason != nil {
			panic(reason)
		}
	}()
	for _, op := range []trace.Op{
		{Kind: trace.OpMalloc, ID: 0, Size: 512},
		{Kind: trace.OpRecordStream, ID: 0, Stream: 1},
	} {
		if out := player.Perform(&op); errors.Is(out.Err, spec.ErrNotSupported) {
			k.without = append(k.without, op.Kind)
			k.report.Lacks = append(k.report.Lacks, string(op.Kind))
		}
	}
}

// lookAround lists the invariants that cannot be seen.
func (k *kit) lookAround(a spec.Allocator) error {
	o, err := invariant.Observe(a, spec.DefaultGeometry(), 1)
	if err != nil {
		return fmt.Errorf("the allocator cannot be observed: %w", err)
	}
	o.History, o.Driver = invariant.NewHistory(), []invariant.DriverBytes{}
	seen := o.Sources()
	if _, able := a.(spec.Checkpointer); able {
		seen |= invariant.FromRestore
	}
	for _, inv := range invariant.All() {
		rule := ofInvariant(inv)
		if rule.Level <= k.level && !slices.ContainsFunc(inv.Seen, func(need invariant.Sources) bool { return seen&need == need }) {
			k.report.Unseen = append(k.report.Unseen, fmt.Sprintf("%s (from: %s)", inv.Name, inv.Seen[0]))
		}
	}
	return nil
}

// room is more memory than the requests of any program add up to.
const room = 4 << 40

// fit makes of an area what the allocator can do of it.
func (k *kit) fit(area *Area) error {
	lacks := func(kind trace.OpKind) bool { return slices.Contains(k.without, kind) }
	kind, about := essential[area.Name]
	if about && lacks(kind) || k.devices > 0 && area.Devices > k.devices {
		k.report.LeftOut = append(k.report.LeftOut, area.Name)
		return nil
	}
	fitted := *area
	fitted.hardware = k.hardware
	if k.roomy {
		fitted.Memory = max(fitted.Memory, room)
	}
	if k.contract != nil {
		fitted.contract = *k.contract
		fitted.contract.Threads = area.has(trace.OpEndThread)
		fitted.contract.DestroysStreams = area.has(trace.OpDestroyStream)
		fitted.contract.Sleeps = area.has(trace.OpSleep)
		fitted.late = k.hardware
	}
	fitted.Kinds = slices.DeleteFunc(slices.Clone(area.Kinds), func(s Share) bool { return lacks(s.Kind) })
	fitted.Misuse = slices.DeleteFunc(slices.Clone(area.Misuse), lacks)
	if k.trusting {
		fitted.Misuse = nil
	}
	if k.settings != nil {
		fitted.Settings = k.settings
	}
	var err error
	fitted.Settings = slices.DeleteFunc(slices.Clone(fitted.Settings), func(settings string) bool {
		h := fitted.header(0, settings)
		_, failed := perform.New(&h, k.factory)
		if failed != nil && !errors.Is(failed, spec.ErrNotSupported) && err == nil {
			err = fmt.Errorf("the allocator cannot be made with the settings %q: %w", settings, failed)
		}
		return failed != nil
	})
	if len(fitted.Settings) == 0 {
		k.report.LeftOut = append(k.report.LeftOut, area.Name)
		return err
	}
	k.areas = append(k.areas, &fitted)
	return err
}
