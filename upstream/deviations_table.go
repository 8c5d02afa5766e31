package upstream

var deviations = []Deviation{
	{
		ID: "order/completed-streams",
		Upstream: "When several streams have completed, the blocks that waited for them are freed in the order of " +
			"a hash of the streams, also when the cache is emptied.",
		Ours:  "By stream handle, then device; for one stream, in the order of the frees.",
		Later: "In 2.12 it also decides later ties.",
		Held:  []string{"alloc/testdata/order_of_completed_frees", "alloc/testdata/event_failures"},
		Shown: []string{"tools/torch.TestRowsOfOrder"},
	},
	{
		ID:       "order/event-recording",
		Upstream: "The events of a block that several streams used are recorded in the order of a hash.",
		Ours:     "By stream handle.",
		Held:     []string{"alloc/testdata/event_failures"},
		Shown:    []string{"tools/torch.TestRowsOfOrder"},
	},
	{
		ID: "order/deferred-frees",
		Upstream: "Deferred blocks are freed, or get their events, in the order of the addresses of heap objects. " +
			"So are those that `graph_capture_record_stream_reuse` finds safe.",
		Ours:  "By stream handle, then by address of the block.",
		Later: "In 2.12 it also decides later ties.",
		Held:  []string{"alloc/testdata/capture_deferred_free", "alloc/testdata/capture_reuse"},
		Shown: []string{"tools/torch.TestRowsOfOrder"},
	},
	{
		ID: "order/restore",
		Upstream: "A restore frees blocks and splits segments in the order of heap addresses. Peaks and sums of " +
			"the statistics depend on that.",
		Ours:  "By address, segment by segment.",
		Later: "In 2.12 it also decides later ties.",
		Held:  []string{"alloc/testdata/checkpoint_restore"},
		Shown: []string{"tools/torch.TestRowsOfOrder"},
	},
	{
		ID: "order/private-pools",
		Upstream: "Private pools are in the order of a hash table's slots; which of two in one slot comes first " +
			"depends on the table's history.",
		Ours:  "The same order, by the whole hash; pools whose hashes are equal by their ids.",
		Held:  []string{"alloc/testdata/private_pools", "alloc/testdata/pool_marks"},
		Shown: []string{"tools/torch.TestRowsOfOrder"},
	},
	{
		ID:       "order/callbacks",
		Upstream: "Free-memory callbacks are called in the order of a hash of their names.",
		Ours:     "In the order of registration.",
		Held:     []string{"alloc.TestNeedMemory"},
		Shown:    []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID:       "misuse/begin-twice",
		Upstream: "Beginning a pool that is begun is an error that has raised the pool's use count.",
		Ours:     "Nothing changes.",
		Held:     []string{"alloc/testdata/pool_errors"},
		Shown:    []string{"tools/torch.TestRowsOfMisuse"},
		Findings: []int{29},
		Issues:   []int{133600},
	},
	{
		ID:       "misuse/no-filter",
		Upstream: "Beginning a pool without a filter crashes at the next malloc.",
		Ours:     "Refused.",
		Held:     []string{"alloc.TestBeginWithoutFilter"},
		Shown:    []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID:       "misuse/release-too-often",
		Upstream: "Releasing a pool too often makes its use count negative, then fails.",
		Ours:     "An error; nothing changes.",
		Held:     []string{"alloc/testdata/pool_errors"},
		Shown:    []string{"tools/torch.TestRowsOfMisuse"},
	},
	{
		ID: "misuse/freeable-pool",
		Upstream: "A freeable pool can be checkpointed, though not restored; creating or beginning it fails an " +
			"assertion.",
		Ours:     "All of it is an error that says so.",
		Held:     []string{"alloc/testdata/pool_errors", "alloc/testdata/checkpoint_errors"},
		Shown:    []string{"tools/torch.TestRowsOfMisuse"},
		Findings: []int{17},
		Issues:   []int{51436, 189126},
	},
	{
		ID:       "misuse/create-default-pool",
		Upstream: "A private pool can be created with the id of the default pool, (0, 0). Nothing can empty it.",
		Ours:     "Refused.",
		Held:     []string{"alloc/testdata/pool_errors"},
		Shown:    []string{"tools/torch.TestRowsOfMisuse"},
	},
	{
		ID: "misuse/unknown-pool-marked",
		Upstream: "`use_on_oom` and `no_split` of an unknown pool are kept. With the first mark the pool is then " +
			"created when memory runs out. Marks stay when their pool is erased, for the next one of that " +
			"id.",
		Ours: "An error. The marks are erased with the pool.",
		Later: "From 2.13 on the pool that is created is erased by the same request's release of the cache, " +
			"unless the current stream is being captured.",
		Held:  []string{"alloc/testdata/pool_errors"},
		Shown: []string{"tools/torch.TestRowsOfMisuse"},
	},
	{
		ID:    "misuse/empty-while-routed",
		Until: "2.12",
		Upstream: "Emptying one pool while requests are routed to any fails an assertion, after counting a " +
			"synchronization.",
		Ours:     "An error; nothing is counted.",
		Held:     []string{"alloc/testdata/pool_errors"},
		Shown:    []string{"tools/torch.TestRowsOfMisuse"},
		Findings: []int{13},
		Issues:   []int{146431, 159301, 161193, 182062},
	},
	{
		ID: "misuse/huge-request",
		Upstream: "Requests of 1 EiB and more are refused in one entry point only. In the others sizes near 2^64 " +
			"are rounded to 0.",
		Ours:     "Refused in all.",
		Held:     []string{"alloc.TestRaw", "alloc/testdata/misuse"},
		Shown:    []string{"tools/torch.TestRowsInCplusplus"},
		Findings: []int{10},
	},
	{
		ID: "misuse/use-of-unallocated",
		Upstream: "A stream use recorded for memory that is not allocated fails an assertion, or accesses a block " +
			"that no longer exists.",
		Ours:  "An error.",
		Held:  []string{"alloc/testdata/misuse", "alloc.TestForeignPointers"},
		Shown: []string{"tools/torch.TestRowsOfMisuse"},
	},
	{
		ID: "misuse/caching-toggled",
		Upstream: "Memory that was allocated while caching was off, or on, must be freed by a caller who knows " +
			"which: the raw entry point goes by the present setting, and passes a block of the cache to " +
			"`cudaFree`.",
		Ours:     "Each pointer is freed in the way it was allocated.",
		Held:     []string{"alloc.TestToggleCaching"},
		Shown:    []string{"tools/torch.TestRowsInCplusplus"},
		Findings: []int{16},
		Issues:   []int{131114},
	},
	{
		ID: "misuse/throwing-tracker",
		Upstream: "Trace trackers are called in the middle of an operation. One that throws leaves a block that " +
			"is in no list, or counted wrongly.",
		Ours: "They are called when a step is done, in the same order. If one panics, the panic goes on to the " +
			"caller, a malloc frees its block again, and the other trackers get their entries.",
		Held:  []string{"alloc.TestEveryFunctionPanics"},
		Shown: []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID:       "misuse/null-callback",
		Upstream: "A callback, observer or tracker that is null crashes when it is called.",
		Ours:     "Refused when it is registered.",
		Held:     []string{"alloc.TestNilFunctions"},
		Shown:    []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID: "misuse/pool-memory-overlaps",
		Upstream: "The memory that a pool's own allocator returns is taken as it is, also where other memory " +
			"lies.",
		Ours: "Refused if it overlaps another segment of the device, is not aligned, or ends beyond the last " +
			"address; so are addresses that the driver reserves, and uncached memory.",
		Held:  []string{"alloc.TestOddMemory", "tests/concurrent.TestGarbage"},
		Shown: []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID:       "misuse/history-options",
		Upstream: "Invalid history options are refused after some have been applied.",
		Ours:     "Nothing changes.",
		Held:     []string{"alloc.TestRecordHistoryRefuses"},
		Shown:    []string{"tools/torch.TestRowsOfMisuse"},
	},
	{
		ID:       "settings/mistake-half-applied",
		Upstream: "A string with a mistake leaves the resets, and the keys before the mistake, in force.",
		Ours:     "Changes nothing, on any device.",
		Held:     []string{"spec/settings.TestApplyRefuses", "alloc.TestConfigureRefused"},
		Shown:    []string{"tools/torch.TestRowsOfSettings"},
		Findings: []int{32},
		Issues:   []int{84970},
	},
	{
		ID:       "settings/any-separator",
		From:     "2.10",
		Upstream: "Any token is accepted in the place of `:` and `,`: `max_split_size_mb,100`.",
		Ours:     "Refused.",
		Held:     []string{"spec/settings.TestApplyRefuses"},
		Shown:    []string{"tools/torch.TestRowsOfSettings"},
	},
	{
		ID:       "settings/trailing-text",
		From:     "2.10",
		Upstream: "A number may be followed by anything: `100abc`, `100.0` for a whole number.",
		Ours:     "Refused.",
		Held:     []string{"spec/settings.TestApplyRefuses"},
		Shown:    []string{"tools/torch.TestRowsOfSettings"},
	},
	{
		ID:       "settings/hexadecimal",
		Upstream: "Decimals may be hexadecimal (`0x1p-1`).",
		Ours:     "Refused, like `inf` and `nan`, which fail upstream's bounds.",
		Held:     []string{"spec/settings.TestApplyRefuses"},
		Shown:    []string{"tools/torch.TestRowsOfSettings"},
	},
	{
		ID:       "settings/large-segment-bound",
		Upstream: "`large_segment_size_mb` may be anything above 10.",
		Ours:     "Below 1 EiB, which no request reaches.",
		Held:     []string{"spec/settings.TestApplyRefuses"},
		Shown:    []string{"tools/torch.TestRowsOfSettings"},
	},
	{
		ID: "settings/pinned-reserve-wraps",
		Upstream: "`pinned_reserve_segment_size_mb` is multiplied into bytes where it is used, and may wrap " +
			"around.",
		Ours:  "The largest whole number of MiB that 64 bits hold, at most.",
		Held:  []string{"spec/settings.TestParseConfig"},
		Shown: []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID:       "settings/any-length",
		Upstream: "A string may have any length.",
		Ours:     "At most 16 KiB: a file can claim any.",
		Held:     []string{"spec/settings.TestLongestString"},
	},
	{
		ID: "settings/read-without-lock",
		Upstream: "Settings are global and read one by one without a lock: they can change in the middle of an " +
			"operation.",
		Ours: "Each device takes them under its mutex, all at once. They change during an operation only if it " +
			"has released the mutex meanwhile.",
		Held:  []string{"alloc.TestConfigureDuringCallbacks", "alloc.TestSettingsOfDevices"},
		Shown: []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID: "streams/default-of-other-device",
		Upstream: "A use on the allocation stream needs no event; streams are compared by handle alone. The " +
			"default streams of all devices have the handle 0, so a use on another device's default stream " +
			"is dropped, and the memory reused too early.",
		Ours:     "Streams are compared with their devices.",
		Held:     []string{"alloc.TestOtherDevicesStreams"},
		Shown:    []string{"tools/torch.TestRowsOfStreams"},
		Findings: []int{7},
	},
	{
		ID: "captures/memory-freed",
		Upstream: "Garbage collection, the release of oversize blocks, emptying the cache (freeable pools) and " +
			"other devices call `cudaFree` or unmap memory while a capture is under way whose mode forbids " +
			"it. The capture is invalidated.",
		Ours:     "Nothing is released; each step counts as having found nothing.",
		Later:    "From 2.13 on emptying the cache frees memory of the default pool as well, and completes deferred frees.",
		Held:     []string{"alloc/testdata/capture_forbids_free"},
		Shown:    []string{"tools/torch.TestRowsOfCaptures"},
		Findings: []int{19, 20},
		Issues:   []int{74261},
	},
	{
		ID: "captures/malloc-fails",
		Upstream: "A request that needs memory from the driver, for a stream that is not captured, calls " +
			"`cudaMalloc` in a mode in which a capture of another stream forbids it. The request fails, and " +
			"the capture is invalidated.",
		Ours:  "It is served: `cudaMalloc` is called in the relaxed mode, for whatever stream.",
		Shown: []string{"tools/torch.TestRowsOfCaptures"},
	},
	{
		ID: "captures/events-queried",
		Upstream: "A malloc without pool routing on its device queries events during a capture of another thread " +
			"or device, which invalidates the capture.",
		Ours:     "Events are not queried while a capture forbids to free.",
		Held:     []string{"alloc/testdata/capture_forbids_free"},
		Shown:    []string{"tools/torch.TestRowsOfCaptures"},
		Findings: []int{15},
	},
	{
		ID: "captures/unmap-synchronizes",
		Upstream: "Unmapping synchronizes the segment's stream, which is illegal while that stream is being " +
			"captured, in every mode.",
		Ours:  "Its pages stay; others are unmapped.",
		Held:  []string{"alloc/testdata/capture_forbids_free"},
		Shown: []string{"tools/torch.TestRowsOfCaptures"},
	},
	{
		ID:   "captures/eager-use",
		From: "2.13",
		Upstream: "A thread whose current stream is not captured frees memory that a captured stream uses: the event " +
			"is recorded in the capture. The next malloc fails with error 907, and the one after it crashes.",
		Ours:     "The event stays in its queue, and is queried again.",
		Shown:    []string{"tools/torch.TestRowsOfCaptures"},
		Findings: []int{37},
		Issues:   []int{181830},
	},
	{
		ID:   "captures/invalidated",
		From: "2.13",
		Upstream: "While the capture of the current stream is invalidated, a free of memory with uses is an error that loses " +
			"the block, and a use is refused, but kept.",
		Ours:     "Both errors change nothing.",
		Held:     []string{"alloc/testdata/rule_captures"},
		Shown:    []string{"tools/torch.TestRowsOfCaptures"},
		Findings: []int{38},
		Issues:   []int{181830},
	},
	{
		ID:       "captures/shared-pages-closed",
		Upstream: "Closing another process's pages unmaps them, also during a capture that forbids it.",
		Ours:     "An error; it can be done when the capture is over.",
		Held:     []string{"alloc.TestCloseDuringCapture"},
		Shown:    []string{"tools/torch.TestRowsOfSharing"},
	},
	{
		ID: "captures/use-remembered",
		Upstream: "That a use was recorded during a capture is kept for the block's address in the heap, also " +
			"when the block is freed in another way. In the block's next allocation a use is then dropped " +
			"that is not over.",
		Ours:     "Erased with the uses.",
		Later:    "From 2.13 on only while the stream that is current is being captured.",
		Held:     []string{"alloc/testdata/capture_deferred_free"},
		Shown:    []string{"tools/torch.TestRowsOfCaptures"},
		Findings: []int{4},
		Issues:   []int{126809},
	},
	{
		ID:   "captures/reuse-free-lost",
		From: "2.9",
		Upstream: "With `graph_capture_record_stream_reuse`, a free while a capture of one of the block's streams " +
			"is invalid, or while they belong to two captures, fails an assertion after the block has " +
			"stopped being allocated: it is lost. So fails, in a routing, a malloc for a stream whose capture is invalid.",
		Ours:     "The block is deferred until no requests are routed to a pool. The malloc is served.",
		Held:     []string{"alloc/testdata/capture_reuse"},
		Shown:    []string{"tools/torch.TestRowsOfCaptures"},
		Findings: []int{14},
		Issues:   []int{158352},
	},
	{
		ID:    "captures/reuse-nodes",
		From:  "2.9",
		Until: "2.9",
		Upstream: "With `graph_capture_record_stream_reuse` a free in a capture adds empty nodes, which decide what memory is reused, and can " +
			"keep the capture from ending. A malloc for a stream that is not captured can fail an assertion.",
		Ours:  "As later releases.",
		Shown: []string{"tools/torch.TestRowsOfCaptures"},
	},
	{
		ID:   "captures/reuse-unrouted",
		From: "2.9",
		Upstream: "With `graph_capture_record_stream_reuse`, a malloc for a captured stream without pool routing " +
			"fails an assertion, and so does the end of pool routing before that of its capture.",
		Ours:     "Both are ordinary.",
		Held:     []string{"alloc/testdata/capture_reuse"},
		Shown:    []string{"tools/torch.TestRowsOfCaptures"},
		Findings: []int{21},
		Issues:   []int{161193, 162186},
	},
	{
		ID: "pools/erased-with-memory",
		Upstream: "A pool is erased when its `cudaMalloc_count` is 0. With expandable segments the count can be 0 " +
			"while blocks of the pool are allocated, which then refer to nothing; or it would fall below 0, " +
			"which fails an assertion in the middle of the unmapping.",
		Ours: "A pool is erased only when nothing refers to it: no segment, no pool routing, no request that has " +
			"released the mutex.",
		Held:     []string{"alloc/testdata/pool_counts", "alloc/testdata/pool_errors"},
		Shown:    []string{"tools/torch.TestRowsOfPools"},
		Findings: []int{11, 12},
		Issues:   []int{128068},
	},
	{
		ID: "pools/gone-during-malloc",
		Upstream: "While a request for a pool has released the mutex (`release_lock_on_cudamalloc`), the pool can " +
			"be erased, and the request goes on using it.",
		Ours:  "The pool stays until the request is served.",
		Held:  []string{"alloc.TestPoolGoneDuringMalloc", "alloc.TestNeedMemoryAndPools"},
		Shown: []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID:       "pools/range-lost",
		Upstream: "A range of addresses for which no page could be created is lost with its pool.",
		Ours:     "Freed with it.",
		Held:     []string{"alloc/testdata/pool_counts"},
		Shown:    []string{"tools/torch.TestRowsOfPools"},
		Findings: []int{26},
		Issues:   []int{128068},
	},
	{
		ID:   "pools/freeable-searched",
		From: "2.8",
		Upstream: "A freeable pool marked `use_on_oom` makes every request fail that would search it; one that is " +
			"begun for others does so too, and its use count rises.",
		Ours:     "The first is not searched. The second is, like any.",
		Held:     []string{"alloc/testdata/pool_marks"},
		Shown:    []string{"tools/torch.TestRowsOfPools"},
		Findings: []int{30},
		Issues:   []int{151487},
	},
	{
		ID: "pools/snapshot-gap",
		Upstream: "A snapshot of one pool shows an expandable segment only up to its first gap, and not at all if " +
			"that is at its beginning.",
		Ours:     "The snapshot shows all of it.",
		Held:     []string{"alloc/testdata/pool_counts"},
		Shown:    []string{"tools/torch.TestRowsOfPools"},
		Findings: []int{36},
		Issues:   []int{133600},
	},
	{
		ID: "checkpoints/tested-late",
		Upstream: "That a segment is gone, or a block still used, is detected when everything has been freed " +
			"already.",
		Ours:  "Everything that can be wrong is tested first.",
		Held:  []string{"alloc/testdata/checkpoint_errors", "alloc.TestRestoreOntoOtherMemory"},
		Shown: []string{"tools/torch.TestRowsOfCheckpoints"},
	},
	{
		ID: "checkpoints/waiting-block",
		Upstream: "A block behind the first of its segment that waits for an event is allocated by the restore. " +
			"From then on it can neither be freed nor can the free that its event completes be ended: both " +
			"fail an assertion, and the next access to the queue of events crashes.",
		Ours:  "The restore is refused.",
		Held:  []string{"alloc/testdata/checkpoint_errors"},
		Shown: []string{"tools/torch.TestRowsOfCheckpoints"},
	},
	{
		ID: "checkpoints/used-block",
		Upstream: "An allocated block with stream uses is freed by the restore, but must then wait, so that its " +
			"segment is not whole.",
		Ours:  "The restore is refused.",
		Held:  []string{"alloc/testdata/checkpoint_errors"},
		Shown: []string{"tools/torch.TestRowsOfCheckpoints"},
	},
	{
		ID: "checkpoints/other-segment",
		Upstream: "Whether the segment at a saved address is of the same stream, and an expandable one of the " +
			"same kind (small or large), is not asked. If the pool was erased and made again another can be " +
			"there. Blocks that the restore splits off get the saved stream; the rest has the segment's; " +
			"free blocks of both merge.",
		Ours:  "The restore is refused.",
		Held:  []string{"alloc.TestRestoreOntoOtherMemory"},
		Shown: []string{"tools/torch.TestRowsOfCheckpoints"},
	},
	{
		ID: "checkpoints/mapped-to-end",
		Upstream: "A restore fails when everything has been freed if an expandable segment of the pool is mapped " +
			"up to the end of its range of addresses. Such a range is 9/8 of the device's memory, so that " +
			"only a device that says it has less memory than it grants leads there.",
		Ours:  "The segment is restored, like any.",
		Held:  []string{"alloc.TestRestoreOfMappedRange"},
		Shown: []string{"tools/torch.TestRestoreOfMappedRange"},
	},
	{
		ID: "oversize/part-freed",
		Upstream: "A block that counts as oversize is passed to `cudaFree` without asking whether it is a whole " +
			"segment. One that was split under a larger `max_split_size_mb` is not: memory is freed that is " +
			"in use, or the call fails.",
		Ours:     "Only whole segments are released; other blocks are skipped.",
		Held:     []string{"alloc/testdata/oversize_release"},
		Shown:    []string{"tools/torch.TestRowsOfOversize"},
		Findings: []int{9},
		Issues:   []int{44742, 84970},
	},
	{
		ID: "oversize/captured-pool",
		Upstream: "Segments of a private pool are released as well, for a request of that pool, though a graph " +
			"that was captured with them will use their addresses again.",
		Ours:     "Nothing is released of a pool that a graph was captured with.",
		Held:     []string{"alloc/testdata/oversize_captured_pool"},
		Shown:    []string{"tools/torch.TestRowsOfOversize"},
		Findings: []int{8},
		Issues:   []int{44742, 51436, 159594, 187795},
	},
	{
		ID:    "expandable/fabric-by-attempt",
		From:  "2.8",
		Until: "2.12",
		Upstream: "Whether pages get fabric handles is decided by the first attempt. Running out of memory at " +
			"that attempt decides for fabric: on a card without, every later page fails, as out of memory.",
		Ours:     "The first page that could be created decides. Running out of memory decides nothing about fabric.",
		Held:     []string{"alloc.TestShareTypeOfPages"},
		Shown:    []string{"tools/torch.TestRowsOfExpandable"},
		Findings: []int{25},
		Issues:   []int{156074, 173606},
	},
	{
		ID:    "expandable/unmap-current-device",
		Until: "2.14",
		Upstream: "Unmapping waits for a default stream of whatever device is current, since it names the " +
			"segment's stream by handle alone: pages are unmapped under work that uses them.",
		Ours:     "The segment's device's.",
		Shown:    []string{"tools/torch.TestUnmapWaitsForTheCurrentDevice"},
		Findings: []int{18},
	},
	{
		ID:       "expandable/fabric-for-all-devices",
		From:     "2.8",
		Until:    "2.12",
		Upstream: "Whether pages get fabric handles is decided once for all devices.",
		Ours:     "For each device.",
		Held:     []string{"alloc.TestShareTypeOfEachDevice"},
		Shown:    []string{"tools/torch.TestRowsOfExpandable"},
	},
	{
		ID:   "expandable/fabric-failure-hidden",
		From: "2.8",
		Upstream: "With fabric handles, any failure to create a page counts as out of memory, and pages created " +
			"before it in the same call are lost.",
		Later: "From 2.13 on the failure is returned as it is; the pages are still lost.",
		Ours:  "It is returned as it is. The pages are released.",
		Held:  []string{"alloc.TestPageFailsUnderFabric"},
		Shown: []string{"tools/torch.TestRowsOfExpandable"},
	},
	{
		ID:    "expandable/fabric-page-unmapped",
		From:  "2.8",
		Until: "2.12",
		Upstream: "Unmapping a page that was shared as a fabric handle takes the handle for a file descriptor, " +
			"and throws.",
		Ours:  "It is unmapped.",
		Held:  []string{"alloc.TestUnmapSharedFabricPage"},
		Shown: []string{"tools/torch.TestRowsOfExpandable"},
	},
	{
		ID:       "expandable/sizes-without-default-stream",
		Upstream: "The list of sizes leaves out the segments of the default stream.",
		Ours:     "The list has all.",
		Held:     []string{"alloc.TestExpandableSegmentSizes"},
		Shown:    []string{"tools/torch.TestRowsOfExpandable"},
	},
	{
		ID:       "expandable/empty-range-kept",
		Upstream: "A range for which no page could be created is never freed.",
		Ours:     "It is when the allocator is closed.",
		Held:     []string{"alloc/testdata/expandable_out_of_memory"},
		Shown:    []string{"tools/torch.TestRowsOfExpandable"},
	},
	{
		ID: "failures/event-query",
		Upstream: "A `cudaEventQuery` or `cudaEventSynchronize` that fails has taken the event out of its queue. " +
			"The next access to the queue crashes, or the block is never freed.",
		Ours:     "The event stays, and is queried again.",
		Held:     []string{"alloc/testdata/driver_failures", "alloc/testdata/event_failures"},
		Shown:    []string{"tools/torch.TestRowsOfFailures"},
		Findings: []int{15},
	},
	{
		ID: "failures/event-record",
		Upstream: "If an event cannot be created or recorded, the block is not allocated any more and its stream " +
			"uses are erased. The block is lost; or, when it was the second of two events, reused without " +
			"waiting for the second stream. A deferred free stays so, and later mallocs assert.",
		Ours:  "All is as before, stream uses too.",
		Held:  []string{"alloc/testdata/driver_failures", "alloc/testdata/event_failures"},
		Shown: []string{"tools/torch.TestRowsOfFailures", "tools/torch.TestRowsOfCaptures"},
	},
	{
		ID: "failures/deferred-event",
		Upstream: "If the event of a deferred block cannot be created or recorded, those before it get their " +
			"events twice, which fails an assertion from then on.",
		Ours:  "That block and those after it stay deferred.",
		Later: "From 2.13 on only while the stream that is current is being captured.",
		Held:  []string{"alloc/testdata/capture_deferred_free"},
		Shown: []string{"tools/torch.TestRowsOfFailures"},
	},
	{
		ID: "failures/capture-status",
		Upstream: "If the capture status of a stream, or the dependencies of a node, cannot be queried, the block " +
			"that is being freed is lost.",
		Ours:  "It is still allocated; nothing is reused that was not shown to be safe.",
		Held:  []string{"alloc/testdata/capture_reuse"},
		Shown: []string{"tools/torch.TestRowsOfFailures"},
	},
	{
		ID: "failures/unmap-unasked",
		Upstream: "Whether a stream is being captured is not asked before its pages are unmapped, so that this " +
			"cannot fail. (It is asked before each `cudaMalloc`, since 2.13 only in a capture; a request ends if that fails.)",
		Ours: "It is asked, and if the driver cannot say, the operation ends and the pages stay. (In a request it " +
			"is asked once for each pool, before the search.)",
		Held:  []string{"alloc/testdata/page_failures"},
		Shown: []string{"tools/torch.TestRowsOfFailures", "tools/torch.TestQuestionFails"},
	},
	{
		ID:       "failures/free-counted",
		Upstream: "A `cudaFree` that fails has been counted and traced.",
		Ours:     "Nothing has changed.",
		Held:     []string{"alloc/testdata/driver_failures"},
		Shown:    []string{"tools/torch.TestRowsOfFailures"},
		Findings: []int{20},
		Issues:   []int{74261},
	},
	{
		ID: "failures/page-map",
		Upstream: "If a page cannot be created, mapped or made accessible, those before it count as mapped " +
			"without being mapped. Mapping the same range again fails an assertion.",
		Ours: "All of them are released. Out of memory leads to the next step of the request, whichever of the " +
			"calls returns it.",
		Later: "From 2.14 on a page that cannot be mapped or made accessible is undone.",
		Held:  []string{"alloc/testdata/page_failures", "alloc.TestEveryDriverCallFails"},
		Shown: []string{"tools/torch.TestRowsOfFailures"},
	},
	{
		ID:       "failures/page-map-not-undone",
		Upstream: "Pages that were mapped before one that fails are not unmapped.",
		Ours: "Where it cannot be undone, because a capture forbids to unmap or the driver refuses, the pages " +
			"stay mapped and free, count in the statistics, and are made accessible when they are allocated, " +
			"also by a restore.",
		Held:  []string{"alloc/testdata/page_failures", "alloc.TestRestoreGivesAccess"},
		Shown: []string{"tools/torch.TestRowsOfFailures"},
	},
	{
		ID: "failures/page-unmap",
		Upstream: "If a page cannot be unmapped or released, it and those before it do not belong to the segment " +
			"any more, but the block still counts as mapped, and is allocated.",
		Ours: "The range that has lost its pages is unmapped, the rest stays mapped and free. A page that cannot " +
			"be released is mapped again.",
		Later: "From 2.14 on an internal assertion fails instead. The page is lost as before.",
		Held:  []string{"alloc/testdata/page_failures", "alloc.TestEveryDriverCallFails"},
		Shown: []string{"tools/torch.TestRowsOfFailures"},
	},
	{
		ID: "failures/address-free",
		Upstream: "If the addresses of a segment cannot be freed, the process ends: that is an exception in a " +
			"destructor.",
		Ours:  "An error. The segment stays, without pages, and serves requests.",
		Held:  []string{"alloc/testdata/page_failures"},
		Shown: []string{"tools/torch.TestRowsOfFailures"},
	},
	{
		ID: "failures/mem-info",
		Upstream: "If `cudaMemGetInfo` fails when a request runs out of memory, only that error is returned, and " +
			"the failure is not counted.",
		Ours:  "It counts as out of memory; both errors are returned.",
		Held:  []string{"alloc.TestMemInfoFails"},
		Shown: []string{"tools/torch.TestRowsOfFailures"},
	},
	{
		ID:       "failures/empty-cache-stops",
		Upstream: "A device that cannot be emptied keeps those after it from being emptied.",
		Ours:     "All are emptied; the errors are joined.",
		Held:     []string{"alloc.TestEmptyCacheGoesOn"},
		Shown:    []string{"tools/torch.TestRowsOfFailures"},
	},
	{
		ID:       "failures/peer-access",
		Upstream: "A peer for which access could not be set counts as a peer, and is not tried again.",
		Ours:     "It is not a peer until access is set everywhere.",
		Held:     []string{"alloc.TestPeerFails"},
		Shown:    []string{"tools/torch.TestRowsOfFailures"},
	},
	{
		ID:       "sharing/kind-assumed",
		Until:    "2.12",
		Upstream: "How the pages in a handle are shared is assumed to be what this process uses itself.",
		Ours:     "The handle says it.",
		Held:     []string{"alloc.TestShare"},
		Shown:    []string{"tools/torch.TestRowsOfSharing"},
	},
	{
		ID:       "sharing/handle-unchecked",
		Until:    "2.13",
		Upstream: "A handle's length and its number of pages are not checked.",
		Ours:     "An error that says what is wrong with it, before the driver is called.",
		Held:     []string{"alloc.TestOpenBadHandle"},
		Shown:    []string{"tools/torch.TestRowsOfSharing"},
	},
	{
		ID:    "sharing/import-fails",
		Until: "2.13",
		Upstream: "If one page cannot be imported, file descriptors stay open, and pages are unmapped that never " +
			"were mapped.",
		Ours:  "What was imported is released, and only that.",
		Held:  []string{"alloc.TestOpenBadHandle"},
		Shown: []string{"tools/torch.TestRowsOfSharing"},
	},
	{
		ID:       "sharing/range-of-device",
		Until:    "2.14",
		Upstream: "Imported pages take addresses for 9/8 of the device.",
		Ours:     "Their own size.",
		Held:     []string{"alloc.TestSharePages"},
		Shown:    []string{"tools/torch.TestRowsOfSharing"},
		Findings: []int{27},
		Issues:   []int{130890, 186213, 198129},
	},
	{
		ID:       "sharing/opened-for-all",
		Upstream: "A handle that was opened for one device is the same for every other.",
		Ours:     "It is opened for each.",
		Held:     []string{"alloc.TestOpenOnSeveralDevices"},
		Shown:    []string{"tools/torch.TestRowsOfSharing"},
	},
	{
		ID: "sharing/close-during-open",
		Upstream: "The last user may close the handle while another opens it: that fails an assertion, or opens " +
			"memory that is about to be closed.",
		Ours:  "Both wait for each other.",
		Held:  []string{"alloc.TestOpenConcurrently"},
		Shown: []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID:       "sharing/close-fails",
		Upstream: "A failure to close opened memory ends the process: it happens in a destructor.",
		Ours: "An error; the last user can try again, and what was released before the failure is not released " +
			"again.",
		Held:  []string{"alloc.TestCloseFails"},
		Shown: []string{"tools/torch.TestRowsOfSharing"},
	},
	{
		ID: "callers/free-beside-restore",
		Upstream: "A pointer leaves the table before the device's mutex is taken, and is inserted after that is " +
			"released. A restore in between frees the block a second time.",
		Ours:  "Table and block change together, under the device's mutex.",
		Held:  []string{"alloc.TestFreeDuringRestore", "alloc.TestDoubleFreeAtOnce"},
		Shown: []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID: "callers/callback-under-mutex",
		Upstream: "Free-memory callbacks are called with the device's mutex held. A thread that they wait for " +
			"must not use the allocator.",
		Ours: "The mutex is released. Others can allocate what they free, so the free blocks are searched again. " +
			"The pool is kept.",
		Held:  []string{"alloc.TestNeedMemory", "alloc.TestNeedMemoryTakenAway"},
		Shown: []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID: "history/ring-resized",
		Upstream: "Changing the length of the ring mixes up the order of its entries, and a shorter one does not " +
			"get shorter.",
		Ours:     "The newest entries stay, oldest first.",
		Held:     []string{"alloc.TestHistoryRing"},
		Shown:    []string{"tools/torch.TestRowsOfHistory"},
		Findings: []int{35},
		Issues:   []int{86241},
	},
	{
		ID:       "history/snapshot-device",
		Upstream: "The entry of a snapshot has device 0 in the history of every device.",
		Ours:     "It has its own device.",
		Held:     []string{"alloc.TestHistoryOfDevices"},
		Shown:    []string{"tools/torch.TestRowsOfHistory"},
	},
	{
		ID:       "history/freeing-thread",
		Upstream: "The entries of a free have the compile context and the metadata of the freeing thread.",
		Ours:     "Those of thread 0: `Free` does not say who calls.",
		Held:     []string{"alloc.TestHistoryNotes"},
		Shown:    []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID: "kept/not-searched-again",
		Upstream: "Out of memory although the request would fit: when the last step has waited for events and " +
			"freed their blocks, the driver is asked once more, but the free blocks are not searched again.",
		Held:     []string{"alloc/testdata/kept_weaknesses"},
		Shown:    []string{"tools/torch.TestRowsOfWeaknesses"},
		Findings: []int{24},
	},
	{
		ID: "kept/limit-segment-size",
		Upstream: "The limit is tested with the size of a segment that is not expandable, also when fewer bytes " +
			"are to be mapped, or more.",
		Held:     []string{"alloc/testdata/expandable_out_of_memory"},
		Shown:    []string{"tools/torch.TestRowsOfWeaknesses"},
		Findings: []int{28, 31},
		Issues:   []int{96995},
	},
	{
		ID:       "kept/limit-without-lock",
		Upstream: "With the mutex released during `cudaMalloc` two requests can pass the limit together.",
		Held:     []string{"alloc.TestLimitWithoutLock"},
		Shown:    []string{"tools/torch.TestRowsInCplusplus"},
	},
	{
		ID: "kept/pages-after-oom",
		Upstream: "Pages that a request has mapped, and addresses it has reserved, before it ran out of memory " +
			"stay; emptying the cache does not free such addresses.",
		Held:  []string{"alloc/testdata/expandable_out_of_memory"},
		Shown: []string{"tools/torch.TestRowsOfWeaknesses"},
	},
	{
		ID: "kept/pool-count",
		Upstream: "A private pool's `cudaMalloc_count` rises by one for each request that maps pages of an " +
			"expandable segment, or finds its free blocks large enough there, and falls by one for each " +
			"block that is unmapped. If it stays above 0 the pool is never erased, though it holds nothing.",
		Held:  []string{"alloc/testdata/pool_counts"},
		Shown: []string{"tools/torch.TestRowsOfWeaknesses"},
	},
	{
		ID: "kept/oversize-tested-twice",
		Upstream: "Whether an allocation, or a segment, is oversize is tested when it is made and again when it " +
			"is released. If `max_split_size_mb` was changed in between, the statistics drift.",
		Held:     []string{"alloc/testdata/kept_weaknesses"},
		Shown:    []string{"tools/torch.TestRowsOfWeaknesses"},
		Findings: []int{33},
		Issues:   []int{84434, 84970},
	},
	{
		ID: "kept/no-second-candidate",
		Upstream: "There is no second candidate: if the best fit fails the oversize tests, no other block is " +
			"tried; and the search by expandable size ends at the first block whose expandable size is not " +
			"smaller.",
		Held:  []string{"alloc/testdata/oversize", "alloc/testdata/expandable_best_fit"},
		Shown: []string{"tools/torch.TestRowsOfWeaknesses"},
	},
	{
		ID: "kept/nothing-released-while-routed",
		Upstream: "While requests of a device are routed to a private pool, no event of the device is queried and " +
			"no cached block is released to make room, of any stream.",
		Later:    "From 2.13 on only while the stream that is current is being captured.",
		Held:     []string{"alloc/testdata/capture_deferred_free", "alloc/testdata/expandable_out_of_memory"},
		Shown:    []string{"tools/torch.TestRowsOfWeaknesses"},
		Findings: []int{23},
		Issues:   []int{133600, 159674, 175015},
	},
	{
		ID: "kept/use-before-capture",
		Upstream: "A stream use that was recorded before requests were routed, and again while they are, counts " +
			"as recorded while they are: the earlier use is not waited for.",
		Later:    "From 2.13 on only while the stream that is current is being captured.",
		Held:     []string{"alloc/testdata/capture_deferred_free"},
		Shown:    []string{"tools/torch.TestRowsOfWeaknesses"},
		Findings: []int{5},
		Issues:   []int{126809},
	},
	{
		ID:    "kept/use-not-captured",
		Until: "2.12",
		Upstream: "A stream use that is recorded while requests are routed, on a stream that is not captured at " +
			"all, counts as recorded in a capture: if the memory is freed before the routing ends, the use " +
			"is not waited for.",
		Later: "From 2.13 on a use on a captured stream, by a thread whose current stream is not, is an event of " +
			"the capture: the next malloc fails with cudaError 907, and the one after it crashes.",
		Held:     []string{"tests/earlyreuse.TestForgottenUses"},
		Shown:    []string{"tools/torch.TestRowsOfWeaknesses"},
		Findings: []int{1, 2, 3},
		Issues:   []int{126809, 133600, 175015, 175374, 181830},
	},
	{
		ID:   "kept/capture-forgotten-outside",
		From: "2.13",
		Upstream: "Memory that was freed in a capture, and is used there by other streams, is given to a request " +
			"of a thread whose current stream is not captured, while the capture is under way.",
		Held:   []string{"alloc/testdata/rule_captures"},
		Shown:  []string{"tools/torch.TestRowsOfWeaknesses"},
		Issues: []int{181830},
	},
	{
		ID:   "kept/use-joins-capture",
		From: "2.9",
		Upstream: "With `graph_capture_record_stream_reuse`, a use on a stream that was recorded before a capture " +
			"counts as recorded in it, if the stream is captured when the memory is freed: the memory may " +
			"be reused in the graph, but the earlier use is not waited for.",
		Held:     []string{"tests/earlyreuse.TestForgottenUsesInCapture"},
		Shown:    []string{"tools/torch.TestRowsOfWeaknesses"},
		Findings: []int{6},
		Issues:   []int{158352, 162186},
	},
	{
		ID: "kept/checkpoint-frees-deferred",
		Upstream: "A checkpoint frees the deferred blocks, or gives them their events, even while requests are " +
			"routed.",
		Later: "From 2.13 on only while the stream that is current is being captured.",
		Held:  []string{"alloc/testdata/capture_deferred_free"},
		Shown: []string{"tools/torch.TestRowsOfWeaknesses"},
	},
	{
		ID:       "kept/checkpoint-without-uses",
		Upstream: "The stream uses of a block are not part of a checkpoint.",
		Held:     []string{"alloc/testdata/kept_weaknesses"},
		Shown:    []string{"tools/torch.TestRowsOfWeaknesses"},
	},
	{
		ID: "kept/unrouted-capture",
		Upstream: "A capture without pool routing on the device is not noticed: an event is recorded in a stream " +
			"that is being captured, and querying it invalidates the capture.",
		Held:  []string{"alloc/testdata/kept_weaknesses"},
		Shown: []string{"tools/torch.TestRowsOfWeaknesses"},
	},
	{
		ID:    "kept/first-page-decides",
		From:  "2.9",
		Until: "2.12",
		Upstream: "Any failure to create the very first page, except running out of memory, counts as the card " +
			"having no fabric handles.",
		Held:  []string{"alloc.TestShareTypeOfPages"},
		Shown: []string{"tools/torch.TestRowsOfWeaknesses"},
	}}
