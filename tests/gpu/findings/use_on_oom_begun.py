"""Wrong exception and memory lost: a MemPool(use_on_oom=True) that another thread is using breaks every
request that runs short.

Instead of torch.cuda.OutOfMemoryError, which programs catch, there is a RuntimeError; and each time the
pool's use count rises by one, so that it is not given up when it is deleted.
"""
import gc
import os
import threading

import torch

MiB = 1 << 20
total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction(200 * MiB / total)
inside, leave = threading.Event(), threading.Event()
pool = torch.cuda.MemPool(use_on_oom=True)


def in_pool():
    with torch.cuda.use_mem_pool(pool):
        torch.empty(100 * MiB, dtype=torch.uint8, device="cuda")
        inside.set()
        leave.wait()


def request():
    try:
        torch.empty(300 * MiB, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError as e:
        print("OutOfMemoryError:", str(e).split(".")[0])
        return False
    except RuntimeError as e:
        print(f"{type(e).__name__}: {str(e).splitlines()[0]}; use count {pool.use_count()}")
        return True
    return False


thread = threading.Thread(target=in_pool)
thread.start()
inside.wait()
fault = [request() for _ in range(3)]
leave.set()
thread.join()
print("when the thread has left the pool:", end=" ")
request()
print("use count", pool.use_count())
del pool
gc.collect()
torch.cuda.empty_cache()
print(f"pool deleted, cache emptied: {torch.cuda.memory_reserved() // MiB} MiB reserved, "
      f"{torch.cuda.memory_allocated() // MiB} MiB allocated", flush=True)
os._exit(1 if any(fault) or torch.cuda.memory_reserved() else 0)
