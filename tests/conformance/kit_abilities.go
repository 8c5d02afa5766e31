package conformance

import (
	"errors"
	"fmt"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/tests/replay"
)

// What an allocator can do is found out by asking it: by its interfaces, and for the
// three methods that every allocator has but may have no answer to, by calling them.
// Programs then have only what it can do, and areas that are all about something else
// are left out.

// ability is one of the small interfaces of spec.
type ability struct {
	name  string
	has   func(spec.Allocator) bool
	kinds []spec.OpKind // that need it
}

func implements[T any](a spec.Allocator) bool {
	_, able := a.(T)
	return able
}

var abilities = []ability{
	{"MemoryLimiter", implements[spec.MemoryLimiter], []spec.OpKind{spec.OpSetMemoryFraction}},
	{"Configurer", implements[spec.Configurer], []spec.OpKind{spec.OpConfigure}},
	{"StatsResetter", implements[spec.StatsResetter], []spec.OpKind{spec.OpResetPeak, spec.OpResetAccumulated}},
	{"Toggler", implements[spec.Toggler], []spec.OpKind{spec.OpEnable}},
	{"Observable", implements[spec.Observable], []spec.OpKind{spec.OpNeedMemoryCallback}},
	{"PrivatePools", implements[spec.PrivatePools], []spec.OpKind{
		spec.OpPoolCreate, spec.OpPoolBegin, spec.OpPoolEnd, spec.OpPoolRelease, spec.OpPoolDelete,
		spec.OpCaptureBegin, spec.OpCaptureEnd, spec.OpGraphLaunch, spec.OpGraphDestroy,
	}},
	{"Checkpointer", implements[spec.Checkpointer], []spec.OpKind{spec.OpCheckpoint, spec.OpRestore}},
	{"PeerAllocator", implements[spec.PeerAllocator], []spec.OpKind{spec.OpPeerAccess}},
	{"SharedMemory", implements[spec.SharedMemory], []spec.OpKind{spec.OpShare, spec.OpOpenShared, spec.OpCloseShared}},
}

// essential is what an area is about, where that needs an ability.
var essential = map[string]spec.OpKind{
	"pools": spec.OpPoolBegin, "capture": spec.OpCaptureBegin, "checkpoint": spec.OpRestore, "sharing": spec.OpShare,
}

// discover makes an allocator, asks it what it can do, and lists the areas to search.
func (k *kit) discover() error {
	h := Find("core").header(0, "")
	player, err := replay.NewPlayer(&h, k.factory)
	if err != nil {
		return fmt.Errorf("the allocator cannot be made: %w", err)
	}
	a := player.Allocator()
	for _, able := range abilities {
		if !able.has(a) {
			k.without = append(k.without, able.kinds...)
			k.report.Lacks = append(k.report.Lacks, able.name)
		}
	}
	for _, op := range []spec.Op{
		{Kind: spec.OpMalloc, ID: 0, Size: 512},
		{Kind: spec.OpRecordStream, ID: 0, Stream: 1},
	} {
		if out := player.Perform(&op); errors.Is(out.Err, spec.ErrNotSupported) {
			k.without = append(k.without, op.Kind)
			k.report.Lacks = append(k.report.Lacks, string(op.Kind))
		}
	}
	if err := k.lookAround(a); err != nil {
		return err
	}
	all := Areas()
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

// lookAround lists the invariants that cannot be seen.
func (k *kit) lookAround(a spec.Allocator) error {
	o, err := spec.Observe(a, spec.DefaultGeometry(), 1)
	if err != nil {
		return fmt.Errorf("the allocator cannot be observed: %w", err)
	}
	o.History, o.Driver = spec.NewHistory(), []spec.DriverFigures{}
	seen := o.Sources()
	if implements[spec.Checkpointer](a) {
		seen |= spec.FromRestore
	}
	for _, inv := range spec.Invariants() {
		rule := ofInvariant(inv)
		if rule.Level <= k.level && !slices.ContainsFunc(inv.Seen, func(need spec.Sources) bool { return seen&need == need }) {
			k.report.Unseen = append(k.report.Unseen, fmt.Sprintf("%s (from: %s)", inv.Name, inv.Seen[0]))
		}
	}
	return nil
}

// fit makes of an area what the allocator can do of it.
func (k *kit) fit(area *Area) error {
	lacks := func(kind spec.OpKind) bool { return slices.Contains(k.without, kind) }
	if kind, about := essential[area.Name]; about && lacks(kind) {
		k.report.LeftOut = append(k.report.LeftOut, area.Name)
		return nil
	}
	fitted := *area
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
		_, failed := replay.NewPlayer(&h, k.factory)
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
