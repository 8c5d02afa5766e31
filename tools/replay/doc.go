// Package replay runs a recorded trace through an allocator, on a fake GPU, and
// compares what the allocator does with what the recorder saw.
//
// # How a replay goes
//
//	trace ──▶ Op ──▶ perform ──▶ allocator ──▶ fake GPU
//	           │                     │             ▲
//	           │ Expectation         │ Outcome     │ addresses, refusals
//	           ▼                     ▼             │ (the driver's part)
//	         compare ◀───────────────┘     Op.Expect.Entries
//
// A trace mixes what the program asked for, what the driver answered and what
// the allocator decided. The first is performed and the second is fed to the fake
// GPU (conformance/perform); the third is compared (compare.go).
// What may differ all the same is listed in tolerance.go, each with its reason;
// nothing else may.
//
// An operation of which the trace expects nothing is only executed, so that a
// counterexample, which is a trace without expectations, can be run again.
//
// What the driver returned, the trace tells in its entries and, where those do not, in fields of
// their own. An older trace does not tell all: such addresses are found by trying (trying.go).
//
// # What can come of it
//
// A trace is replayed exactly, or it differs, and then the first difference is
// reported; what follows from it is of no interest. An allocator that lacks an
// ability that the trace needs is not to blame for a difference: the trace is
// then not supported, and the Result says by which operation. A trace that makes
// no sense is bad input, a *trace.Error that names the line. The whole trace
// is read in every case, so that bad input is found wherever it stands.
package replay
