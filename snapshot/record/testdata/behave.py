"""Runs a case in which gb_record cannot record all: behave.py DIR CASE"""
import os
import sys

import gb_record
import torch
from torch import _C

os.chdir(sys.argv[1])
torch.cuda.Properties.total_memory = _C.free = 1 << 30
torch.cuda._current = torch.cuda.Stream(0)


def request(*events):
    _C.coming[:] = events
    _C.did()


def memory_is_reserved():
    _C.segments = [{"device": 0}]
    gb_record.start("trace.jsonl")


def twice():
    gb_record.start("trace.jsonl")
    gb_record.start("trace.jsonl")


def too_old():
    del _C._cuda_setMemoryMetadata
    gb_record.start("trace.jsonl")


def another_allocator():
    torch.cuda.get_allocator_backend = lambda: "cudaMallocAsync"
    gb_record.start("trace.jsonl")


def full():
    gb_record.start("trace.jsonl", max_entries=2)
    request(("segment_alloc", 4096, 2097152, 0), ("alloc", 4096, 512, 0))
    gb_record.stop()


def nearly_full():
    gb_record.start("trace.jsonl", max_entries=10)
    request(("segment_alloc", 4096, 2097152, 0), ("alloc", 4096, 512, 0))
    _C.statistics = {"allocation.all.allocated": 4, "allocation.all.freed": 3}
    gb_record.recorder.finished.wait = lambda seconds: False  # at once
    gb_record.recorder.watch()


def cannot_be_recorded():
    gb_record.start("trace.jsonl")
    request(("segment_alloc", 4096, 2097152, 0), ("alloc", 4096, 512, 0))
    torch.Tensor(4096).record_stream("no stream")
    gb_record.stop()


def not_its_memory():
    gb_record.start("trace.jsonl")
    torch.Tensor(4096).record_stream(torch.cuda.Stream(7))
    gb_record.stop()


def allocated_before():
    gb_record.start("trace.jsonl")
    request(("free_requested", 4096, 512, 0), ("free_completed", 4096, 512, 0))
    gb_record.stop()


def capture_without_end():
    gb_record.start("trace.jsonl")
    torch.cuda.CUDAGraph().capture_begin()
    gb_record.stop()


def names():
    os.environ["RANK"] = "3"
    gb_record.start("rank{rank}.jsonl")
    gb_record.stop()


try:
    globals()[sys.argv[2]]()
except Exception as e:
    print("%s: %s" % (type(e).__name__, e), file=sys.stderr)
gb_record.stop()
for name in sorted(os.listdir(".")):
    print("%s:" % name)
    print(open(name).read(), end="")
