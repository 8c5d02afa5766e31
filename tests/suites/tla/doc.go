// Package tla compares the Go model with the TLA+ specification: for every
// configuration of tla/, the model is explored and set beside what TLC has found
// (tla/manifests, written by "make tla"). The same states, the same edges with the
// same labels, and as many generated states and levels; and the property that fails
// where one should, by a counterexample of the same length.
//
// "go test ./tests/suites/tla" compares the small configurations, "make tla-check" all.
package tla
