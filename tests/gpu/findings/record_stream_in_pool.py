"""Silent corruption: a use recorded inside torch.cuda.use_mem_pool() is not waited for if the tensor is freed there.

The memory of x is reused while the other stream has yet to read it. y must hold ones. The two controls,
without a pool, and freed after the pool's context, show ones.
"""
import contextlib
import sys

import torch

N = 64 << 20


def run(pool, freed_inside):
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    side = torch.cuda.Stream()
    y = torch.zeros(N, dtype=torch.uint8, device="cuda")
    x = torch.ones(N, dtype=torch.uint8, device="cuda")
    address = x.data_ptr()
    torch.cuda.synchronize()
    with torch.cuda.use_mem_pool(pool) if pool else contextlib.nullcontext():
        with torch.cuda.stream(side):
            torch.cuda._sleep(2_000_000_000)
            y.copy_(x)
        x.record_stream(side)
        if freed_inside:
            del x
    if not freed_inside:
        del x
    z = torch.empty(N, dtype=torch.uint8, device="cuda")
    reused, busy = z.data_ptr() == address, not side.query()
    z.fill_(2)
    torch.cuda.synchronize()
    print(f"pool {bool(pool)!s:5} freed inside {freed_inside!s:5}: x's address reused {reused}, "
          f"other stream busy {busy}, y holds {y.unique().tolist()}")
    return y.unique().tolist() != [1]


controls = run(None, True), run(torch.cuda.MemPool(), False)
fault = run(torch.cuda.MemPool(), True)
assert not any(controls)
sys.exit(1 if fault else 0)
