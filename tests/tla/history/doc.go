// Package history records the calls of a program of an allocator on a small device, and
// tests that they are a behaviour of the model. TLC tests the same: "make tla-trace" writes a
// history as a TLA+ module (tla/TraceData.tla is an example), which tla/TraceCore.tla follows.
//
// A history is a text with a JSON object in each line:
//
//	{"action":"Malloc","args":[1,2],"result":0,"reserved":4}
package history
