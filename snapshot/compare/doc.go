// Package compare predicts the memory statistics of a recorded run under other allocator
// settings and other limits: would other settings have avoided that it ran out of memory,
// and how exact is that?
//
//	compare.go, candidates.go   all runs of all settings
//	prediction.go               what they come to
//	certainty.go                whether a prediction is exact, and why not
//	failure_dependent.go        programs whose requests depend on failures
//	cause.go                    why a run is out of memory
//	ranking.go                  which settings are best
//
// The requests do not depend on the allocator, since the program makes them. But three
// things are not in a snapshot and matter: the addresses that the driver returns, when
// other streams have finished with freed memory, and the layout at the start of an
// incomplete history. For each there are several assumptions. If the statistics are equal
// under all of them they are exact. Otherwise their range is reported, and the reason.
package compare
