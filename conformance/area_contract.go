package conformance

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The areas for allocators whose contract is named (ForContract). Their programs have many
// streams, most of them slow, and few sizes, so that memory is soon used again while work
// on it is under way; the host waits hardly ever.
var contractAreas = []Area{
	{
		Name: "late", What: "few sizes on seven streams, with work that completes late",
		Devices: 1, Streams: 6, Memory: 256 * spec.MiB, Live: 8,
		Settings: []string{""}, Few: []uint64{512, 4096, 40_000, 600_000, 2 * spec.MiB, 3 * spec.MiB},
		Kinds: lateShares(),
	},
	{
		Name: "cards", What: "few sizes on two devices, with work that completes late",
		Devices: 2, Streams: 2, Memory: 256 * spec.MiB, Live: 6,
		Settings: []string{""}, Few: []uint64{4096, 40_000, 2 * spec.MiB},
		Kinds: lateShares(),
	},
	{
		Name: "tight", What: "one stream after the other fills a small device, and driver calls fail for lack of memory",
		Devices: 1, Streams: 3, Memory: 64 * spec.MiB, Live: 10, Turns: true, Length: 120, Failures: 6,
		Settings: []string{""}, Few: []uint64{4096, 600_000, 3 * spec.MiB, 3 * spec.MiB, 9 * spec.MiB, 9 * spec.MiB, 20 * spec.MiB},
		Kinds: []Share{
			{trace.OpMalloc, 40}, {trace.OpFree, 40}, {trace.OpRecordStream, 2}, {trace.OpKernel, 25}, {trace.OpBusy, 2},
			{trace.OpDrain, 4}, {trace.OpEmptyCache, 1},
		},
	},
	{
		Name: "rows", What: "many requests of one size on one stream, used and freed in rows",
		Devices: 1, Streams: 2, Memory: 512 * spec.MiB, Live: 300, Rows: true, Length: 800, Weight: 4, Settings: []string{""},
		Kinds: []Share{
			{trace.OpMalloc, 8}, {trace.OpKernel, 5}, {trace.OpFree, 4}, {trace.OpFreeOn, 2}, {trace.OpRecordStream, 1}, {trace.OpBusy, 4},
			{trace.OpDrain, 3}, {trace.OpEmptyCache, 1},
		},
	},
	{
		Name: "fan", What: "few sizes on twenty streams",
		Devices: 1, Streams: 19, Memory: 256 * spec.MiB, Live: 12, Weight: 2,
		Settings: []string{""}, Few: []uint64{4096, 40_000},
		Kinds: lateShares(),
	},
	{
		Name: "large", What: "requests of 2 GiB and more",
		Devices: 1, Streams: 2, Memory: 64 * spec.GiB, Live: 4,
		Settings: []string{""}, Few: []uint64{4096, 1<<31 - 512, 1 << 31, 1<<32 - 512, 1 << 32, 1<<32 + 4096, 5 * spec.GiB, 1<<34 + 4096},
		Kinds: largeShares,
	},
	{
		Name: largeOnHost, What: "requests of 2 GiB and more, one at a time",
		Devices: 1, Streams: 2, Memory: 64 * spec.GiB, Live: 1,
		Settings: []string{""}, Few: []uint64{4096, 512, 40_000, 4096, 512, 40_000, 4096, 512, 40_000, 600_000, 1 << 31, 1 << 32},
		Kinds: largeShares,
	},
	{
		Name: "handles", What: "streams that are destroyed, with memory cached, and whose handles are used again",
		Devices: 1, Streams: 4, Memory: 256 * spec.MiB, Live: 6, Weight: 4,
		Settings: []string{""}, Few: []uint64{4096, 40_000, 2 * spec.MiB},
		Kinds: lateShares(Share{trace.OpDestroyStream, 8}),
	},
	{
		Name: "threads", What: "threads with default streams of their own that come and go",
		Devices: 1, Streams: 5, Threads: 3, Memory: 256 * spec.MiB, Live: 8, Weight: 3,
		Settings: []string{""}, Few: []uint64{4096, 40_000, 2 * spec.MiB},
		Kinds: lateShares(Share{trace.OpEndThread, 6}),
	},
	{
		Name: failingArea, What: "one size on three streams, and events fail to be recorded",
		Devices: 1, Streams: 2, Memory: 256 * spec.MiB, Live: 4, Failures: 24, Weight: 4,
		Settings: []string{""}, Few: []uint64{4096},
		Kinds: []Share{
			{trace.OpMalloc, 30}, {trace.OpFree, 25}, {trace.OpFreeOn, 10}, {trace.OpKernel, 50}, {trace.OpBusy, 25}, {trace.OpDrain, 5},
		},
	},
	{
		Name: "resize", What: "allocations that grow and shrink where they are",
		Devices: 1, Streams: 3, Memory: 256 * spec.MiB, Live: 8,
		Settings: []string{""}, Few: []uint64{512, 4096, 40_000, 600_000, 2 * spec.MiB, 3 * spec.MiB, 5 * spec.MiB},
		Kinds: lateShares(Share{trace.OpResize, 25}),
	},
	{
		Name: "sleep", What: "memory that is given up for a while",
		Devices: 1, Streams: 3, Memory: 256 * spec.MiB, Live: 8,
		Settings: []string{""}, Few: []uint64{4096, 40_000, 2 * spec.MiB, 5 * spec.MiB},
		Kinds: lateShares(Share{trace.OpSleep, 6}, Share{trace.OpWake, 25}),
	},
}

// failingArea is about events that fail to be recorded.
const failingArea = "events"

// largeOnHost is in the place of large where the allocator may write gigabytes of the host's memory.
const largeOnHost = "host"

var largeShares = []Share{{trace.OpMalloc, 30}, {trace.OpFree, 25}, {trace.OpKernel, 30}, {trace.OpEmptyCache, 2}}

// lateShares are those of programs of which about half the streams are held up.
func lateShares(more ...Share) []Share {
	return append([]Share{
		{trace.OpMalloc, 30}, {trace.OpFree, 20}, {trace.OpFreeOn, 10}, {trace.OpRecordStream, 8}, {trace.OpKernel, 40},
		{trace.OpBusy, 12}, {trace.OpDrain, 8}, {trace.OpWaitStream, 2}, {trace.OpEmptyCache, 1},
	}, more...)
}

// contractAreas lists those that go with the contract.
func (c Contract) areas() (list []*Area) {
	for i := range contractAreas {
		a := &contractAreas[i]
		if a.has(trace.OpDestroyStream) && !c.DestroysStreams || a.has(trace.OpEndThread) && !c.Threads || a.Name == failingArea && !c.FailingEvents ||
			c.OnHost && a.Name == "large" || !c.OnHost && a.Name == largeOnHost || a.has(trace.OpResize) && !c.Resizes || a.has(trace.OpSleep) && !c.Sleeps {
			continue
		}
		list = append(list, a)
	}
	return list
}
