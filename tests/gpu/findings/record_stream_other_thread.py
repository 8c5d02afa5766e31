"""Silent corruption: while one thread is inside torch.cuda.use_mem_pool(), record_stream() of all threads is without
effect.

The pool's thread does nothing but be there. The main thread uses the default pool, and calls record_stream()
as it is documented. y must hold ones.
"""
import sys
import threading

import torch

N = 64 << 20
inside, leave = threading.Event(), threading.Event()


def in_pool():
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        inside.set()
        leave.wait()


def run(other_thread):
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    thread = threading.Thread(target=in_pool)
    side = torch.cuda.Stream()
    y = torch.zeros(N, dtype=torch.uint8, device="cuda")
    x = torch.ones(N, dtype=torch.uint8, device="cuda")
    address = x.data_ptr()
    torch.cuda.synchronize()
    if other_thread:
        thread.start()
        inside.wait()
    with torch.cuda.stream(side):
        torch.cuda._sleep(2_000_000_000)
        y.copy_(x)
    x.record_stream(side)
    del x
    if other_thread:
        leave.set()
        thread.join()
    z = torch.empty(N, dtype=torch.uint8, device="cuda")
    reused, busy = z.data_ptr() == address, not side.query()
    z.fill_(2)
    torch.cuda.synchronize()
    print(f"other thread in a pool {other_thread!s:5}: x's address reused {reused}, "
          f"other stream busy {busy}, y holds {y.unique().tolist()}")
    return y.unique().tolist() != [1]


assert not run(False)
sys.exit(1 if run(True) else 0)
