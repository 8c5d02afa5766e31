package explore

import (
	"sync"
	"sync/atomic"
)

// parallel calls do for 0 to n-1, in so many goroutines.
func parallel(workers, n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}
