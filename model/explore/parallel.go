package explore

import (
	"sync"
	"sync/atomic"
)

// parallel calls do for 0 to n-1, in a number of goroutines, which have numbers too.
func parallel(workers, n int, do func(worker, i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for worker := range min(workers, n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(worker, i)
			}
		})
	}
	all.Wait()
}
