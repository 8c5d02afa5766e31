// Package bounded is the model at bounds that are small enough for everything to be
// looked at: a device of a few units of memory, a few streams, a few sizes. It is the
// mirror of the TLA+ text in tla/, configuration for configuration: the same
// constants, read from the same files; the same actions, by the same names, with the
// same arguments; the same states.
//
//	bounds.go       the constants of a configuration
//	core.go         malloc, free, streams, emptying the cache
//	pools.go        private pools and captures
//	checkpoint.go   checkpoints of them
//	twostep.go      mallocs that release the lock while the driver is asked
//	check.go        which configuration is for which of these, and what it checks
//	actions.go      how steps get their labels
//	key.go          a state as bytes: what tells states apart
//	text.go         a state as TLA+ writes it: what the two sides are compared by
//	invariants.go   what should be true of every state
//
// What happens in an action is not said here but in package model, which knows sizes
// in bytes, recorded runs of PyTorch, and nothing of TLA+. A unit of memory is a byte
// there, with a geometry to match. The TLA+ text counts addresses from 0, and there
// 0 is no address: so all addresses are moved (Origin).
package bounded

import "gaugeblock/model"

// State is a state of the model.
type State = model.State
