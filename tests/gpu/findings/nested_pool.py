"""Memory lost: using a torch.cuda.MemPool that is in use already (by any thread) is refused, but its use
count rises.

The count never falls to 0 then, and memory of the pool is not returned when the pool is deleted. The second
use may be one of another thread.
"""
import gc
import sys

import torch

MiB = 1 << 20


def run(nested):
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        if nested:
            try:
                with torch.cuda.use_mem_pool(pool):
                    pass
            except RuntimeError as e:
                print("refused:", str(e).splitlines()[0])
        torch.empty(64 * MiB, dtype=torch.uint8, device="cuda")
    count = pool.use_count()
    del pool
    gc.collect()
    torch.cuda.empty_cache()
    lost = torch.cuda.memory_reserved() // MiB
    print(f"used twice {nested!s:5}: use count {count} at the end; pool deleted, cache emptied: "
          f"{torch.cuda.memory_allocated() // MiB} MiB allocated, {lost} MiB reserved")
    return lost > 0


assert not run(False)
sys.exit(1 if run(True) else 0)
