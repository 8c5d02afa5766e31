package conformance

import (
	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Option changes what Run and Examine do. What an allocator lacks needs no option as
// a rule: an ability that it does not implement, or that answers with an error which
// wraps spec.ErrNotSupported (Stats, Snapshot and RecordStream may), is left out by
// itself, and the report says so.
type Option func(*kit)

// Against is the allocator that Exact compares with, as a rule the reference
// (reference.New in gaugeblock/tools/reference).
func Against(reference perform.Factory) Option {
	return func(k *kit) { k.against = reference }
}

// Operations is how many operations are checked at least, over all areas; 60,000 if
// it is not given. More find more.
func Operations(n int) Option { return func(k *kit) { k.operations = n } }

// Seed is that of the first program; 1 if it is not given. The same seed gives the same
// programs and the same report.
func Seed(s uint64) Option { return func(k *kit) { k.seed = s } }

// Settings begins every program with one of these settings, instead of those of its
// area. An allocator that knows none of PyTorch's settings can as well ignore them, or
// refuse them with spec.ErrNotSupported when it is made.
func Settings(settings ...string) Option { return func(k *kit) { k.settings = settings } }

// Without leaves operations of these kinds out of all programs, for an allocator that
// has the method but not the ability.
func Without(kinds ...trace.OpKind) Option {
	return func(k *kit) { k.without = append(k.without, kinds...) }
}

// TrustsCallers leaves out all misuse, for an allocator that does not check its
// callers' arguments, and says so to its users.
func TrustsCallers() Option { return func(k *kit) { k.trusting = true } }

// Align is what addresses have to be multiples of, in bytes; 512 if it is not given.
func Align(bytes uint64) Option { return func(k *kit) { k.align = bytes } }

// Traces writes the program of each violation to this directory, as a trace that
// "gaugeblock replay" takes.
func Traces(dir string) Option { return func(k *kit) { k.traces = dir } }

// ForContract makes programs keep a contract, and adds areas (area_contract.go) in which work
// completes late. The order of work is then looked at by the device alone: what an allocator
// makes its streams wait for, the rule NoReuseWhileInUse does not know.
func ForContract(c Contract) Option {
	return func(k *kit) {
		k.contract = &c
		k.ignored = append(k.ignored, noReuseWhileInUse)
	}
}

// AsHardware runs all programs on a device that waits as hardware does, for an allocator
// whose driver calls cannot be refused. Otherwise half of them run on a device on which a
// wait for a busy stream fails.
func AsHardware() Option { return func(k *kit) { k.hardware = true } }

// Faults limits the faults to these calls and errors, whatever Nth is. With none, no driver
// call is made to fail.
func Faults(faults ...spec.FaultSpec) Option {
	return func(k *kit) { k.faults = append([]spec.FaultSpec{}, faults...) }
}

// HasLimit says that the allocator has a limit of its own, which cannot be asked for: a
// request may fail while the device has memory.
func HasLimit() Option { return func(k *kit) { k.limited = true } }

// Progress is called with the number of operations that were checked so far, now and then.
func Progress(heard func(done int)) Option { return func(k *kit) { k.progress = heard } }

// MostDevices leaves out the areas whose programs use more devices.
func MostDevices(n int) Option { return func(k *kit) { k.devices = n } }

// Kept is what an allocator may keep of the driver at the end of a program, when everything is
// freed and the cache emptied.
type Kept int

const (
	// KeepsNothing: it returns everything, if it can be closed by then.
	KeepsNothing Kept = iota
	// KeepsNoMemory: it cannot be closed, and keeps events and streams.
	KeepsNoMemory
	// KeepsAll: there is no way to empty its cache.
	KeepsAll
)

// MayKeep says that it keeps as many bytes of each device at the end, and no more.
func MayKeep(bytes uint64) Option { return func(k *kit) { k.mayKeep = bytes } }

// Roomy runs all programs on devices with so much memory that no request fails, for an allocator that
// ends the process when one does.
func Roomy() Option { return func(k *kit) { k.roomy = true } }

// Keeps says what the allocator may keep.
func Keeps(what Kept) Option { return func(k *kit) { k.keeps = what } }
