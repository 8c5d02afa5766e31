"""Performs recorded traces as a program that runs under gb_record.

usage: perform.py OUTDIR TRACE...

Each operation of a trace becomes the call a PyTorch program would make, and what the
allocator is recorded to have done in it is what the stub of PyTorch does. So what
gb_record writes must replay as exactly as the trace it came from, without having seen
when streams were busy, what requests were called, or where one ended and the next began.
Part of the requests is made by a thread that gb_record knows nothing of.
"""
import gzip
import json
import os
import re
import sys

import gb_record
import torch
from torch import _C


def elsewhere(call):
    """Makes the call as a thread that has made no other."""
    metadata = _C.local.metadata
    del _C.local.metadata
    call()
    _C.local.metadata = metadata


class Program:
    """What the numbers of the trace stand for."""

    def __init__(self, header):
        self.streams = [torch.cuda.Stream(handle) for handle in header["streams"]]
        self.pools, self.states, self.tensors = {}, {}, {}
        self.by_thread = []  # pools begun for this thread
        self.graphs = []
        self.begin = None  # a pool_begin that may be a capture's
        self.capturing = None
        self.end_of_capture = False
        self.count = 0

    def perform(self, op):
        self.count += 1
        _C.coming[:] = op.get("events", [])
        getattr(self, op["op"])(op)
        assert not _C.coming, op

    def request(self, op, may_be_elsewhere):
        if self.count % 3 == 0 and may_be_elsewhere:
            elsewhere(_C.did)
        else:
            _C.did()

    def malloc(self, op):
        self.request(op, not self.by_thread)
        if "addr" in op:
            self.tensors[op["id"]] = torch.Tensor(op["addr"])

    def free(self, op):
        self.request(op, True)
        del self.tensors[op["id"]]

    def record_stream(self, op):
        self.tensors[op["id"]].record_stream(self.streams[op["stream"]])

    def empty_cache(self, op):
        if op["events"] and self.count % 3 == 0 and self.hides:
            _C.did()  # as C++ code does it
        else:
            torch.cuda.empty_cache()

    def set_memory_fraction(self, op):
        _C._cuda_setMemoryFraction(op["fraction"], 0)

    def configure(self, op):
        _C._accelerator_setAllocatorSettings(op["settings"])

    def pool_create(self, op):
        torch.cuda.MemPool.ids = tuple(op["pool"])
        marks = {mark: op[mark] for mark in ("use_on_oom", "no_split") if mark in op}
        self.pools[tuple(op["pool"])] = torch.cuda.MemPool(**marks)

    def pool_begin(self, op):
        if op["by"] == "thread":
            self.by_thread.append(op["pool"])
            _C._cuda_beginAllocateCurrentThreadToPool(0, tuple(op["pool"]))
            return
        torch.cuda._current = self.streams[op["stream"]]
        if self.captures:
            self.begin = op  # the capture that follows does it
        else:
            _C._cuda_beginAllocateCurrentStreamToPool(0, tuple(op["pool"]))

    def pool_end(self, op):
        if self.end_of_capture:
            self.end_of_capture = False
            return
        if op["pool"] in self.by_thread:
            self.by_thread.remove(op["pool"])
        torch.cuda.memory.end_pool(0, tuple(op["pool"]))

    def pool_release(self, op):
        for graph in self.graphs:
            if graph.taken == tuple(op["pool"]):
                self.graphs.remove(graph)
                graph.reset()
                return
        _C._cuda_releasePool(0, tuple(op["pool"]))

    def pool_delete(self, op):
        del self.pools[tuple(op["pool"])]

    def checkpoint(self, op):
        self.states[op["state"]] = _C._cuda_getCheckpointState(0, tuple(op["pool"])), dict(self.tensors)

    def restore(self, op):
        state, tensors = self.states[op["state"]]
        _C._cuda_setCheckpointPoolState(0, state, [], [])
        for i in op["freed"]:
            del self.tensors[i]
        for i in op["live"]:
            self.tensors[i] = tensors[i]

    def capture_begin(self, op):
        self.capturing = torch.cuda.CUDAGraph()
        self.capturing.capture_begin(tuple(self.begin["pool"]), capture_error_mode="relaxed")

    def capture_end(self, op):
        self.capturing.capture_end()
        self.graphs.append(self.capturing)
        self.end_of_capture = True

    def wait_stream(self, op):
        self.streams[op["stream"]].wait_stream(self.streams[op["on"]])

    def device(self, op):
        """Operations on the device alone are not PyTorch's."""

    busy = drain = kernel = device_free = device


def flat(stats, prefix=""):
    for key, value in stats.items():
        if isinstance(value, dict):
            yield from flat(value, prefix + key + ".")
        else:
            yield prefix + key, value


def snapshot_of(layout):
    """The layout of a trace as a snapshot has it."""
    return [
        {
            "device": 0, "address": s["addr"], "total_size": s["size"], "stream": s["stream"],
            "segment_type": s["type"], "segment_pool_id": tuple(s["pool"]), "is_expandable": s["expandable"],
            "allocated_size": s["allocated"], "active_size": s["active"], "requested_size": s["requested"],
            "blocks": [dict(zip(("address", "size", "requested_size", "state"), b)) for b in s["blocks"]],
        }
        for s in layout
    ]  # fmt: skip


def perform(trace, out):
    with gzip.open(trace, "rt") as f:
        header, *ops, end = map(json.loads, f)
    _C.statistics = {name: 0 for name, _ in flat(end["stats"])}
    _C.segments = []
    _C.settings = header["settings"]
    torch.cuda.Properties.total_memory = header["total_memory"]
    gb_record.start(os.path.join(out, os.path.basename(trace)))
    program = Program(header)
    program.hides = end["stats"]["num_alloc_retries"] == 0 and not re.search("garbage|max_split|pool_", str([header, ops]))
    program.captures = any(op["op"] == "capture_begin" for op in ops)
    for op in ops:
        program.perform(op)
    _C.statistics = dict(flat(end["stats"]))
    _C.segments = snapshot_of(end["layout"])
    begun = next((op["bytes"] for op in ops if op["op"] == "device_free"), header["total_memory"])
    _C.free = begun - sum(s["size"] for s in end["layout"])
    gb_record.stop()


gb_record.time.time_ns = lambda: 1000 * _C.tick()
for trace in sys.argv[2:]:
    perform(trace, sys.argv[1])
