package upstream

// A Finding is a fault of PyTorch that a program reaches. docs/findings.md describes it under its
// number, which is its place in the list, counted from 1.
type Finding struct {
	Title    string
	Script   string // that shows it, in tests/gpu/findings
	Severity string
	Ours     string // whether the reference has the fault
	Repaired string // the first release without it; "": the newest has it; NotRun
	Since    string // the first release with it, where it is after 2.11
}

// NotRun stands where a finding was not looked for in releases after 2.11.
const NotRun = "not run"

// findings are all of them, the worst first.
var findings = []Finding{
	{"A use recorded inside `torch.cuda.use_mem_pool` is not waited for", "record_stream_in_pool.py", "silent corruption", "the same", "2.13", ""},
	{"One thread inside `use_mem_pool` makes `record_stream` of all threads without effect", "record_stream_other_thread.py", "silent corruption", "the same", "2.13", ""},
	{"While one thread captures a graph, `record_stream` of an eager thread is without effect", "record_stream_during_capture.py", "silent corruption", "the same", "2.13", ""},
	{"Uses recorded for one tensor make the allocator drop the use of another", "record_stream_stale_uses.py", "silent corruption", "does not", "", ""},
	{"A use recorded before a capture is not waited for if the same stream is recorded in it as well", "record_stream_before_and_in_capture.py", "silent corruption", "the same", "", ""},
	{"With `graph_capture_record_stream_reuse` a use recorded before a capture is not waited for if the stream joins the capture", "record_stream_capture_reuse.py", "silent corruption", "the same", "", ""},
	{"`record_stream` with the default stream of another device is without effect", "default_streams_of_two_devices.py", "silent corruption", "does not", "", ""},
	{"Memory that a captured graph uses is returned to the driver while the graph lives", "oversize_release_captured.py", "silent corruption", "does not", "", ""},
	{"A part of a segment is passed to `cudaFree` as if it were a segment", "oversize_release_part.py", "silent corruption", "does not", "", ""},
	{"A request of -1 bytes is served, with memory that others get too", "negative_request.py", "silent corruption", "does not", "", ""},
	{"With expandable segments the pool of a deleted graph is given up while a tensor of it is alive", "graph_deleted_expandable.py", "crash", "does not", "", ""},
	{"After a graph was deleted `torch.cuda.empty_cache` fails an internal assertion", "graph_deleted_expandable_assert.py", "crash", "does not", "", ""},
	{"Deleting a `MemPool` while another is used ends the process", "delete_pool_in_pool.py", "crash", "does not", "2.13", ""},
	{"With `graph_capture_record_stream_reuse`, freeing a tensor after a capture has failed ends the process", "free_in_invalid_capture.py", "crash", "does not", "", ""},
	{"An allocation on one device during a capture on another fails, and the next one crashes", "capture_on_other_device.py", "crash", "does not", "", ""},
	{"Memory of the cache is passed to `cudaFree` after caching was switched off", "toggle_caching.py", "crash", "does not", "", ""},
	{"Capturing with the pool of a deleted graph fails an internal assertion, or works, depending on what is alive", "deleted_graphs_pool.py", "crash", "a plain error", "", ""},
	{"`torch.cuda.empty_cache` unmaps memory under work if another device is current", "unmap_other_device.py", "crash", "does not", "2.15", ""},
	{"`torch.cuda.empty_cache` in a capture frees the memory of a deleted graph", "empty_cache_in_capture.py", "capture fails", "does not", "", ""},
	{"With `garbage_collection_threshold` an allocation in a capture calls `cudaFree`", "garbage_collection_in_capture.py", "capture fails", "does not", "", ""},
	{"With `graph_capture_record_stream_reuse` leaving a pool's context in a capture fails an internal assertion", "pool_in_capture_reuse.py", "capture fails", "does not", "", ""},
	{"After a capture that failed nothing cached is released any more", "failed_capture.py", "out of memory without need", "not applicable", NotRun, ""},
	{"While any thread is inside `use_mem_pool` no cached memory is released for others", "oom_other_thread_in_pool.py", "out of memory without need", "the same", "2.13", ""},
	{"A request fails, and the same request right after it succeeds", "oom_retry.py", "out of memory without need", "the same", "", ""},
	{"If no page can be had for the first request under expandable segments, none can be had later", "expandable_after_oom.py", "out of memory without need", "does not", "2.13", ""},
	{"Each pool that runs out of memory under expandable segments leaves its range of addresses behind", "expandable_range_lost.py", "out of memory without need", "does not", "", ""},
	{"Each page received from another process under expandable segments takes addresses for 9/8 of the device", "expandable_ipc_addresses.py", "out of memory without need", "does not", "2.15", ""},
	{"Under expandable segments a request is refused that needs one more page, as if it needed all of its size", "expandable_limit_too_early.py", "out of memory without need", "the same", "", ""},
	{"Using a `MemPool` that is in use is refused, but raises its use count", "nested_pool.py", "memory lost", "does not", "", ""},
	{"A `MemPool(use_on_oom=True)` that is in use breaks every request that runs short", "use_on_oom_begun.py", "memory lost", "does not", "", ""},
	{"Under expandable segments a process holds more than `set_per_process_memory_fraction` allows", "expandable_limit_passed.py", "wrong figure", "the same", "", ""},
	{"A settings string that is refused changes the settings nevertheless", "settings_half_applied.py", "wrong figure", "does not", "", ""},
	{"`oversize_allocations` goes below 0, and `max_split_size` shows what it once was", "oversize_statistic.py", "wrong figure", "the same", "", ""},
	{"The message of an `OutOfMemoryError` counts free memory of pools as allocated", "oom_message.py", "wrong figure", "the same", "", ""},
	{"The recorded memory history is out of order when its length was changed", "history_order.py", "wrong figure", "does not", "", ""},
	{"The snapshot of one pool leaves out an expandable segment whose beginning has been unmapped", "pool_snapshot.py", "wrong figure", "does not", "", ""},
	{"An eager use of a captured stream makes the next malloc fail, and the one after it crash", "c10/eager_use_of_captured_stream.cc", "crash", "not in 2.11", "", "2.13"},
	{"While the capture of a thread's current stream is invalid, its calls fail, and a block that it frees is lost", "c10/invalidated_capture.cc", "memory lost", "not in 2.11", "", "2.13"},
}
