"""Wrong figure: the snapshot of one pool leaves out an expandable segment whose beginning has been unmapped.

The snapshot of everything shows it.
"""
import gc
import os

import torch

MiB = 1 << 20
torch._C._accelerator_setAllocatorSettings("expandable_segments:True")


def empty(mib):
    return torch.empty(mib * MiB, dtype=torch.uint8, device="cuda").zero_()


graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    first, second = empty(40), empty(40)
pool = graph.pool()
del graph, first
gc.collect()
torch.cuda.empty_cache()
everything = [s for s in torch.cuda.memory_snapshot() if tuple(s["segment_pool_id"]) == tuple(pool)]
of_pool = torch.cuda.memory_snapshot(pool)
for name, segments in (("snapshot of everything", everything), ("snapshot of the pool", of_pool)):
    print(f"{name}: {[(s['total_size'] // MiB, s['allocated_size'] // MiB) for s in segments]} (MiB mapped, MiB allocated)")
print(f"allocated {torch.cuda.memory_allocated() // MiB} MiB", flush=True)
os._exit(1 if len(of_pool) != len(everything) else 0)
