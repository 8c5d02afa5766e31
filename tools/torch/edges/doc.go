// Package edges carries the graphs of the specification over to PyTorch's sizes.
//
// A configuration of the specification (tla/configurations.json) has a device of a few units of
// memory. PyTorch's sizes are fixed: a small segment has 2 MiB, a block is a multiple of 512 bytes.
// A Scale says, for each number of units, how many bytes it stands for. Segments of the two kinds
// need not grow by the same factor, so the device charges for each segment, and places it, by its
// units: then memory runs out at the same request, and addresses are in the same order. What a
// request, a split, a merge and a search decide is the same if the sizes are in the same order.
// Where that can be had the scale is exact: the state after every step must be the model's, in
// other sizes. Where it cannot, a walk ends at an operation that ends otherwise.
//
//	scale.go      a scale, and what it does with a trace
//	scales.go     the scales of the configurations
//	limit.go      the limit of a malloc in bytes, where a configuration has one
//	captures.go   the captures of a walk, where they forbid to free memory
//	device.go     the fake device of a scale
//	layout.go     the memory of a state of the model, and of an allocator, in units
//	walk.go       walks that take every edge of a graph
//	unreached.go  why edges are not taken
package edges
