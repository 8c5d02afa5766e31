package upstream

import "gaugeblock/spec/settings"

// Rules are the decisions in which releases of PyTorch differ: one field for each, said as
// what the allocator does. The zero value is 2.11. Where an implementation meets a decision
// it asks the field; it never asks for a release.
//
// alloc, model and tla all read each field, but where its comment says "Not in": there the
// same is done for every release, or the matter does not occur. Tests hold that.
//
// The numbers are those of pull requests of pytorch/pytorch; where none stands the change was
// seen in the libraries only.
type Rules struct {
	// Settings is how settings strings are read. Each is applied with settings.Grammar.Apply.
	//
	// Not in tla: there are no strings of settings.
	Settings settings.Grammar

	// Ties is the order of free blocks of one stream and one size: a request takes the first.
	Ties Ties

	// Captures is what counts as a capture.
	Captures Captures

	// PoolEndCompletesDeferred: with graph_capture_record_stream_reuse the end of a pool's
	// routing completes the deferred frees of that pool's blocks: uses marked as captured are
	// dropped, the others get events, and a block without any becomes free. Otherwise the
	// blocks wait for the next request without a capture. (2.12, #175817)
	PoolEndCompletesDeferred bool

	// UseOnOOMLast: pools marked use_on_oom are searched when all else has failed: after the
	// release of the cache and the driver allocation after it, or, in a capture, where that
	// release would be. Otherwise they are searched before anything is released.
	// (until 2.10, #169699)
	UseOnOOMLast bool

	// UseOnOOMExpandable: in that search a request that may use expandable segments takes
	// blocks of expandable segments too. Otherwise it takes other blocks only. (until 2.9)
	UseOnOOMExpandable bool

	// FirstRoutingWins: of several routings that accept a request the one begun first serves
	// it. Otherwise the one begun last. (until 2.9, issue #161193)
	FirstRoutingWins bool

	// FullFractionLimits: a memory fraction of 1 that was set is a limit as any other: it is in
	// the out-of-memory message, and garbage collection acts on it. Otherwise it takes the
	// limit away. (until 2.9, #161035)
	//
	// Not in tla: neither messages nor garbage collection are specified.
	FullFractionLimits bool

	// FractionMakesCurrent: setting a memory fraction makes its device the current one, which
	// is seen where a stream of the current device is waited for. (until 2.9)
	//
	// Not in alloc: it waits for the segment's own device in every release. Not in model and tla:
	// there is one device.
	FractionMakesCurrent bool

	// LimitRounded: the memory limit, fraction times total memory, is rounded to the nearest
	// byte, halves away from zero. Otherwise it is truncated. (2.13, #179444)
	LimitRounded bool

	// RestoreRefusesGrown: a restore fails if an expandable segment of the pool has grown since
	// the checkpoint. (until 2.10)
	RestoreRefusesGrown bool

	// RoutedEmptyCacheFails: emptying the cache while requests are routed is an error.
	// (until 2.7)
	//
	// Not in model and tla: they follow no release that has it.
	RoutedEmptyCacheFails bool

	// FabricByQuery: whether the pages of expandable segments can have fabric handles is asked
	// of each device, and an error of the page's creation is an error. Otherwise the first
	// creation decides for the process: if it fails with a fabric handle all others do without.
	// (2.13)
	//
	// Not in model and tla: nothing is shared between processes.
	FabricByQuery bool

	// FabricPagesUnmap: a page that was shared with a fabric handle can be unmapped. Otherwise
	// that is an error. (2.13)
	//
	// Not in alloc: it is so in every release. Not in model and tla: nothing is shared between
	// processes.
	FabricPagesUnmap bool

	// FailedMappingUndone: a page that cannot be mapped or made accessible ends its request
	// with an error, and those mapped before it are unmapped. Otherwise the pages stay, and the
	// process ends when they are unmapped later. (2.14, #187955, issue #188008)
	//
	// Not in alloc, model and tla: it is undone in every release.
	FailedMappingUndone bool

	// FailedUnmapAsserts: a page that cannot be unmapped is reported as a failed internal
	// assertion. Otherwise as the driver's error. Its memory is lost either way. (2.14, #187955)
	//
	// Not in alloc: it is the driver's error in every release. Not in model and tla: errors have
	// no texts.
	FailedUnmapAsserts bool

	// HandleSaysKind: a shared handle names its kind, so that a process that does not use
	// fabric handles itself opens one. Otherwise it reads it as a file descriptor. (2.13)
	//
	// Not in alloc: it is so in every release. Not in model and tla: nothing is shared between
	// processes.
	HandleSaysKind bool

	// FailedImportUndone: shared pages whose description has a wrong length or count, or of
	// which one cannot be imported, are an error, and nothing stays open. (2.14, #187955)
	//
	// Not in alloc: it is so in every release. Not in model and tla: nothing is shared between
	// processes.
	FailedImportUndone bool

	// ImportReservesItsSize: the address range of imported pages is their size. Otherwise 9/8
	// of the device's memory. (2.15, #186218)
	//
	// Not in alloc: it is so in every release. Not in model and tla: nothing is shared between
	// processes.
	ImportReservesItsSize bool

	// UnmapWaitsForItsDevice: before pages are unmapped the segment's stream on the segment's
	// device is waited for. Otherwise that stream of the current device, which is another one
	// where the segment's is the default stream. (2.15, #197159)
	//
	// Not in alloc: it is so in every release. Not in model and tla: there is one device.
	UnmapWaitsForItsDevice bool

	// ExactAddress is whether a request can name its address, and where its trace entries say
	// so. (2.13, #178215)
	//
	// Not in model and tla: no request names its address.
	ExactAddress ExactAddress

	// Annotations: a program can annotate a block, which appends an entry to the trace and
	// decides nothing. (2.14)
	//
	// Not in model and tla: there are no trace entries.
	Annotations bool

	// PrivatePoolStats: the statistics have the bytes that each private pool has reserved.
	// (2.13, #178240)
	//
	// Not in model and tla: the statistics are not by pool.
	PrivatePoolStats bool
}

// Ties is the order of free blocks of one stream and one size.
type Ties uint8

const (
	// TiesByAddress: the lowest address first.
	TiesByAddress Ties = iota
	// TiesByBlock: the Block object made first. Upstream counts them for the whole process: one
	// is made for a new segment, for the lower part of a split, for the rest of a map and for
	// the parts of an unmap, and a merge keeps the surviving object's number. (2.12, #178362)
	TiesByBlock
	// TiesBySegment: the segment made first, then the lowest address. A range of expandable
	// segments is one segment; its number does not change as it grows. (2.13, #183591)
	TiesBySegment
)

// Captures is what counts as a capture. While there is one, a request queries no events, a
// free with uses on other streams is deferred, its uses are marked as captured, and memory
// that is waited for is not released.
type Captures uint8

const (
	// CapturesByRouting: any routing of requests to a pool on the device.
	CapturesByRouting Captures = iota
	// CapturesByMark: a capture is marked as begun on the device (MarkCaptureBegin), and the
	// current stream of the calling thread is captured. If that stream's capture is invalidated
	// a request, a use, a free of a block with uses, an emptying of the cache and a checkpoint
	// fail. (2.13, #181830)
	CapturesByMark
)

// ExactAddress is whether a request can name its address.
type ExactAddress uint8

const (
	// NoExactAddress: it cannot.
	NoExactAddress ExactAddress = iota
	// ExactAddressInUserMetadata: it can; its trace entries have the word mallocWithAddress
	// as user metadata.
	ExactAddressInUserMetadata
	// ExactAddressInInternalMetadata: it can; the word is internal metadata. (2.15)
	ExactAddressInInternalMetadata
)
