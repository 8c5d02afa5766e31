"""Crash: with expandable segments torch.cuda.empty_cache() fails an internal assertion after a graph was
deleted.

One request has mapped the pages of the graph's pool. They are unmapped as two ranges, because a tensor lies
in between. The pool's count would go below 0. The next call finds the count at 0 and deletes the pool, though
the tensor is alive.
"""
import gc
import os

import torch

MiB = 1 << 20
torch._C._accelerator_setAllocatorSettings("expandable_segments:True")


def empty(mib):
    return torch.empty(mib * MiB, dtype=torch.uint8, device="cuda")


graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    temporary = empty(100).zero_()
    del temporary
    first, second = empty(40).zero_(), empty(20).zero_()
del graph, first
gc.collect()
fault = 0
for attempt in range(2):
    try:
        torch.cuda.empty_cache()
        print("empty_cache() has worked;", end=" ")
    except RuntimeError as e:
        print("empty_cache():", str(e).splitlines()[0][:160])
        fault = 1
    print(f"{torch.cuda.memory_reserved() // MiB} MiB reserved, {torch.cuda.memory_allocated() // MiB} MiB allocated", flush=True)
os._exit(fault)
