package conformance

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// An Area is a kind of program: its operations and their proportions, its settings and devices,
// and what it must make an allocator do.
type Area struct {
	Name string
	What string // for people

	Devices int
	Streams int // of each device, beside the default one
	Threads int
	Memory  uint64 // bytes of each device
	Live    int    // a program with more allocations than this frees more than it asks for

	Settings   []string // one of them is in force when a program begins
	Configures []string // one of them is what a configure brings
	Sizes      []uint64 // boundaries beside those of the geometry, in bytes
	Few        []uint64 // if given, the bytes of all requests
	Rows       bool     // requests, uses and frees come in rows
	Turns      bool     // most requests are of the stream of the one before, and memory of one stream is freed after the other
	Marks      bool     // pools may be use_on_oom and no_split
	Pools      bool     // single pools may be emptied

	Kinds  []Share
	Misuse []trace.OpKind
	Labels []Label // must be met

	// Length is how many operations a program of an examination has; 0: as many as others. Every
	// other one is run again with Failures failing driver calls; 0: as few as others.
	Length, Failures int
	// Weight is how many operations an examination makes of the area, relative to the others; 0: 1.
	Weight int

	// Release is that of PyTorch whose rules the programs' allocator follows ("2.13"); "": 2.11.
	Release string

	// What the programs of an examination have in common (Option).
	contract Contract
	hardware bool // all programs run on a device that waits as hardware does
	late     bool // a stream may wait for any other: work is looked at by the device alone
}

// Share is how often a kind of operation occurs, relative to the others.
type Share struct {
	Kind   trace.OpKind
	Weight int
}

// Required lists the labels that a search of the area has to meet: its own, and
// that every kind of operation has succeeded and every misuse been refused.
func (a *Area) Required() []Label {
	required := slices.Clone(a.Labels)
	for _, k := range a.Kinds {
		required = append(required, Label("op "+k.Kind))
	}
	for _, kind := range a.Misuse {
		required = append(required, Label("refused "+kind))
	}
	return required
}

// has reports whether programs of the area have operations of the kind.
func (a *Area) has(kind trace.OpKind) bool {
	return slices.ContainsFunc(a.Kinds, func(s Share) bool { return s.Kind == kind })
}

// draw chooses where a program runs. Half of the programs run on a device that waits as
// hardware does; the other half on a device whose streams only the program drains, so that they
// are held up for longer.
func (a *Area) draw(c Choices, seed uint64) trace.Header {
	h := a.header(seed, "")
	h.Settings = pick(c, readable(a.Settings, h))
	h.Waits = chance(c, 2) || a.hardware
	return h
}

// header is the first line of the traces of the area's programs.
func (a *Area) header(seed uint64, settings string) trace.Header {
	h := trace.Header{
		Format: trace.Format, Version: trace.Version,
		Source: "gaugeblock conformance", Release: a.Release, DeviceName: "fake",
		Devices: a.Devices, TotalMemory: a.Memory, Settings: settings,
		Family: a.Name, Seed: int64(seed),
		Streams: []spec.Stream{0}, Geometry: spec.DefaultGeometry(), Waits: a.hardware,
	}
	if a.contract.Threads {
		h.Threads = a.Threads
	}
	for i := range a.Devices * a.Streams {
		h.Streams = append(h.Streams, spec.Stream(0x100*(i+1)))
	}
	return h
}

// readable are the settings that the release knows, or none at all.
func readable(all []string, h trace.Header) (list []string) {
	version, _, _ := upstream.OfTrace(h.Release, h.Source)
	for _, text := range all {
		if _, err := version.Rules.Settings.Parse(text, h.Geometry); err == nil {
			list = append(list, text)
		}
	}
	if list == nil {
		return []string{""}
	}
	return list
}

// Find is the area with the name, nil if there is none.
func Find(name string) *Area {
	for i := range areas {
		if areas[i].Name == name {
			return &areas[i]
		}
	}
	return nil
}

// Areas lists them all.
func Areas() []*Area {
	var list []*Area
	for i := range areas {
		list = append(list, &areas[i])
	}
	return list
}
