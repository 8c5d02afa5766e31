package fakegpu

import (
	"slices"
	"time"
)

// usage is how much of an engine is taken, by what has begun so far. What begins later has only what is left.
type usage struct {
	parts []usedPart // in order; the first begins at or before what begins next; behind the last nothing is taken
}

// usedPart is how much is taken up to a time, from the end of the part before.
type usedPart struct {
	to   time.Duration
	used float64
}

// last is when nothing is taken any more.
func (u *usage) last() time.Duration {
	if len(u.parts) == 0 {
		return 0
	}
	return u.parts[len(u.parts)-1].to
}

// take takes a share from a time on, or what is left of it, until as much is done as the share does in so long, and
// gives the end. Of an engine whose work has all of it the share is 1. Times of calls must not go back.
func (u *usage) take(from, long time.Duration, share float64) time.Duration {
	u.forget(from)
	left, at := share*float64(long), from
	for i := 0; left > 0; i++ {
		if i == len(u.parts) {
			to := at + time.Duration(left/share)
			u.parts = append(u.parts, usedPart{to, share})
			return to
		}
		p := &u.parts[i]
		free := min(share, 1-p.used)
		done := free * float64(p.to-at)
		if done >= left && free > 0 {
			to := at + time.Duration(left/free)
			u.parts = slices.Insert(u.parts, i, usedPart{to, p.used + free})
			return to
		}
		left -= done
		p.used += free
		at = p.to
	}
	return at
}

// forget cuts off what is over at a time.
func (u *usage) forget(from time.Duration) {
	i := 0
	for i < len(u.parts) && u.parts[i].to <= from {
		i++
	}
	u.parts = slices.Delete(u.parts, 0, i)
}
