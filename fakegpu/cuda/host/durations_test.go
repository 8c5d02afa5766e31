//go:build cgo && linux

package host

import (
	"testing"
	"time"
)

// Work is late by chance: kernels seldom and by at most half a millisecond, collectives by some two. Equal seeds and
// ranks have equal times, and others have others.
func TestLateness(t *testing.T) {
	const works = 20000
	late, again := lateness(1, 0), lateness(1, 0)
	others := []func(string, uint64) time.Duration{lateness(2, 0), lateness(1, 1)}
	paused, differ := 0, make([]int, len(others))
	var total time.Duration
	for n := range uint64(works) {
		kernel, rank := late("a", n), late("ncclAllReduce", n)
		if kernel != again("a", n) || kernel < 0 || kernel > longestPause || rank < 0 {
			t.Fatalf("%d: %v, %v", n, kernel, rank)
		}
		if kernel > 0 {
			paused++
		}
		total += rank
		for i, other := range others {
			if other("ncclAllReduce", n) != rank {
				differ[i]++
			}
		}
	}
	if paused < works/pauses/2 || paused > works/pauses*2 {
		t.Errorf("%d of %d pieces of work come after a pause", paused, works)
	}
	if mean := total / works; mean < rankIsLate*9/10 || mean > rankIsLate*11/10 {
		t.Errorf("other ranks are late by %v on average", mean)
	}
	for i, n := range differ {
		if n < works/2 {
			t.Errorf("%d: %d differ", i, n)
		}
	}
}
