package points

import "gaugeblock/spec/happensbefore"

// variable is an atomic of any type. In the memory model of Go a load comes after the store
// whose value it returns.
type variable[T comparable] struct {
	value  T
	stored happensbefore.Clock
}

// LoadAt is Load, at a place in the source.
func (v *variable[T]) LoadAt(site string) T {
	point(Atomic, site)
	acquire(&v.stored)
	return v.value
}

// StoreAt is Store.
func (v *variable[T]) StoreAt(site string, value T) {
	point(Atomic, site)
	acquire(&v.stored)
	v.value = value
	release(&v.stored)
}

// SwapAt is Swap.
func (v *variable[T]) SwapAt(site string, value T) (old T) {
	point(Atomic, site)
	acquire(&v.stored)
	old, v.value = v.value, value
	release(&v.stored)
	return old
}

// CompareAndSwapAt is CompareAndSwap.
func (v *variable[T]) CompareAndSwapAt(site string, old, value T) bool {
	point(Atomic, site)
	acquire(&v.stored)
	if v.value != old {
		failed(v, site, func() bool { return v.value == old })
		return false
	}
	v.value = value
	release(&v.stored)
	return true
}

// Bool stands in for atomic.Bool.
type Bool struct{ variable[bool] }

// Pointer stands in for atomic.Pointer.
type Pointer[T any] struct{ variable[*T] }

// integers are what can be added to.
type integers interface {
	~int32 | ~int64 | ~uint32 | ~uint64 | ~uintptr
}

type number[T integers] struct{ variable[T] }

// AddAt is Add.
func (v *number[T]) AddAt(site string, delta T) T {
	point(Atomic, site)
	acquire(&v.stored)
	v.value += delta
	release(&v.stored)
	return v.value
}

// The numbers of sync/atomic.
type (
	// Int32 stands in for atomic.Int32.
	Int32 struct{ number[int32] }
	// Int64 stands in for atomic.Int64.
	Int64 struct{ number[int64] }
	// Uint32 stands in for atomic.Uint32.
	Uint32 struct{ number[uint32] }
	// Uint64 stands in for atomic.Uint64.
	Uint64 struct{ number[uint64] }
	// Uintptr stands in for atomic.Uintptr.
	Uintptr struct{ number[uintptr] }
)
