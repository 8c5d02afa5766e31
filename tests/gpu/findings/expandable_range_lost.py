"""Addresses lost, then no allocation any more: each pool that runs out of memory under expandable segments
leaves its range of addresses behind.

A range is 9/8 of the device's memory. It is never returned, though the pool has been deleted. When there are
no addresses left, nothing can be allocated, however much memory is free.
"""
import gc
import os
import time

import torch

MiB = 1 << 20


def empty(mib):
    return torch.empty(mib * MiB, dtype=torch.uint8, device="cuda")


def expandable(on):
    torch._C._accelerator_setAllocatorSettings(f"expandable_segments:{on}")


expandable(True)
empty(20)
torch.cuda.empty_cache()
expandable(False)
free, total = torch.cuda.mem_get_info()
ballast = [empty(free // MiB - 600)]
try:
    while True:
        ballast.append(empty(20))
except torch.cuda.OutOfMemoryError:
    pass
expandable(True)
start, other, pools = time.time(), "", 0
while time.time() - start < 40 and not other:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        try:
            empty(40)
        except torch.cuda.OutOfMemoryError:
            pass
        except RuntimeError as e:
            other = str(e).splitlines()[0]
    del pool
    pools += 1
print(f"pool {pools} of those that were made and deleted: {other or 'out of memory, like the others'}; "
      f"ranges of {pools} pools: {pools * total * 9 / 8 / 2**40:.0f} TiB")
expandable(False)
del ballast
gc.collect()
torch.cuda.empty_cache()
expandable(True)
kept = []
try:
    for i in range(8):
        kept.append(torch.cuda.MemPool())
        with torch.cuda.use_mem_pool(kept[-1]):
            kept.append(empty(40))
        print("device empty: 40 MiB in a new pool")
except RuntimeError as e:
    free = torch.cuda.mem_get_info()[0]
    print(f"device empty, {free // MiB} MiB free: 40 MiB in a new pool: {str(e).splitlines()[0]}", flush=True)
os._exit(1 if other else 0)
