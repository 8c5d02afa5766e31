// Package tla compares the Go model with the TLA+ specification. For every configuration of
// tla/ that the model has, the model is explored and compared with TLC's result
// (tla/manifests, written by "make tla"): the same states, the same edges with the same
// labels, the same numbers of generated states and levels. Where a property should fail it
// must be the same property, with a counterexample of the same length unless it is a
// liveness property.
//
// "go test ./tests/tla" compares the small configurations, "make tla-check" all.
package tla
