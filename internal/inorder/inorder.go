// Package inorder does work in parallel whose results are wanted in order.
package inorder

// Each applies work to every item, at most workers at a time, and hands the
// results to each one by one in the order of the items, whatever order they are
// ready in. Work runs ahead of each by no more than workers results, so that
// results do not pile up behind a slow one.
func Each[T, R any](items []T, workers int, work func(T) R, each func(R)) {
	workers = min(workers, len(items)) // more would have nothing to do
	// A promise is a result to be. The channel's capacity bounds how many there
	// are: one is being waited for, workers-1 stand behind it.
	promises := make(chan chan R, max(workers, 1)-1)
	go func() {
		defer close(promises)
		for _, item := range items {
			promise := make(chan R, 1)
			promises <- promise
			go func() { promise <- work(item) }()
		}
	}()
	for promise := range promises {
		each(<-promise)
	}
}
