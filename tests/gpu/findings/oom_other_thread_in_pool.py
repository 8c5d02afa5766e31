"""Out of memory without need: while any thread is inside torch.cuda.use_mem_pool(), no cached memory is
released for others.

The pool's thread allocates nothing. The main thread's cache would do, if it were released, as it is without
the other thread.
"""
import sys
import threading

import torch

MiB = 1 << 20
total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction(1000 * MiB / total)
inside, leave = threading.Event(), threading.Event()


def in_pool():
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        inside.set()
        leave.wait()


def run(name):
    cached = torch.empty(600 * MiB, dtype=torch.uint8, device="cuda")
    del cached
    try:
        torch.empty(800 * MiB, dtype=torch.uint8, device="cuda")
        print(f"{name}: 800 MiB")
        failed = False
    except torch.cuda.OutOfMemoryError as e:
        print(f"{name}: {str(e).split('.')[0]}; {torch.cuda.memory_allocated() // MiB} MiB allocated, "
              f"{torch.cuda.memory_reserved() // MiB} MiB reserved")
        failed = True
    torch.cuda.empty_cache()
    return failed


alone = run("alone")
thread = threading.Thread(target=in_pool)
thread.start()
inside.wait()
fault = run("another thread in a pool")
leave.set()
thread.join()
assert not alone
sys.exit(1 if fault else 0)
