// Package torch sets the reference beside PyTorch's own allocator (binary): the same
// operations on both, each on a fake device of its own, compared after every one.
//
//	pytorch.go    where PyTorch is, and its allocator as a replay.Factory
package torch
