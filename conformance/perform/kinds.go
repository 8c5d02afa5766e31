package perform

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// kind says how a kind of operation is performed. The entries stand with the methods that
// perform: memory.go, pools.go, sharing.go, streams.go, host.go, capture.go, device.go, trees.go.
type kind struct {
	// perform does what an operation asks for. Its error is the allocator's or the
	// device's answer, except for three: errors that wrap spec.ErrNotSupported say that
	// the operation cannot be performed on this allocator, a *trace.Error that it makes
	// no sense, and ErrSkipped that there was nothing to do.
	perform func(m *machine, op *trace.Op) error

	// needs is the ability that the allocator has to have; nil: none but those of every
	// spec.Allocator. perform is not called without it.
	needs *Ability
}

// ErrSkipped says that the operation needs something that an earlier operation failed to make,
// or that a callback has freed. In a trace without expectations that can happen; nothing is
// wrong then.
var ErrSkipped = errors.New("skipped: it names something that was never made or no longer exists")

// kinds has an entry for every kind.
var kinds = func() map[trace.OpKind]kind {
	all := map[trace.OpKind]kind{}
	for _, group := range []map[trace.OpKind]kind{
		memoryKinds, poolKinds, sharingKinds, streamKinds, hostKinds, captureKinds, treeKinds, deviceKinds,
	} {
		maps.Copy(all, group)
	}
	return all
}()

// Ability is one of the small interfaces of spec that an allocator may implement.
type Ability struct {
	Name  string // of the interface
	Has   func(spec.Allocator) bool
	Other bool // PyTorch's allocator has it not: nobody misses it
}

var abilities []*Ability // in the order of their declaration

// ability adds the ability of having the interface T.
func ability[T any]() *Ability {
	a := &Ability{Name: reflect.TypeFor[T]().Name(), Has: func(a spec.Allocator) bool {
		_, able := a.(T)
		return able
	}}
	abilities = append(abilities, a)
	return a
}

// otherAbility adds the ability of having the interface T, and of saying so.
func otherAbility[T any](says func(T) bool) *Ability {
	a := &Ability{Name: reflect.TypeFor[T]().Name(), Other: true, Has: func(a spec.Allocator) bool {
		t, able := a.(T)
		return able && says(t)
	}}
	abilities = append(abilities, a)
	return a
}

var (
	memoryLimiter = ability[spec.MemoryLimiter]()
	configurer    = ability[spec.Configurer]()
	statsResetter = ability[spec.StatsResetter]()
	toggler       = ability[spec.Toggler]()
	observable    = ability[spec.Observable]()
	privatePools  = ability[spec.PrivatePools]()
	checkpointer  = ability[spec.Checkpointer]()
	peerAllocator = ability[spec.PeerAllocator]()
	sharedMemory  = ability[spec.SharedMemory]()
	resizer       = otherAbility(func(r Resizer) bool { return r.Resizes() })
	sleeper       = otherAbility(func(s Sleeper) bool { return s.Sleeps() })
)

// Abilities lists those that some kind of operation needs.
func Abilities() []*Ability { return slices.Clone(abilities) }

// AbilityFor is the ability that operations of the kind need, nil if every allocator can
// be asked for them.
func AbilityFor(name trace.OpKind) *Ability { return kinds[name].needs }

// lacks is the error of an operation that the allocator has no ability for.
func lacks(name trace.OpKind, ability string) error {
	return &spec.NotSupportedError{Op: string(name), Reason: "the allocator is not a spec." + ability}
}
