"""Silent corruption: uses that were recorded for one tensor make the allocator drop another tensor's use.

The use of the first tensor is recorded inside a pool's context, and the tensor is freed outside. That is
served well, but the use stays recorded under the address of the allocator's block. The second tensor gets
the same block. Its use is recorded outside of any pool. It is freed while a pool is used (a capture will do,
and so will another thread's pool). y must hold ones.
"""
import sys

import torch

N = 64 << 20
pool, side = torch.cuda.MemPool(), torch.cuda.Stream()


def run(in_pool):
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    y = torch.zeros(N, dtype=torch.uint8, device="cuda")
    first = torch.ones(N, dtype=torch.uint8, device="cuda")
    if in_pool:
        with torch.cuda.use_mem_pool(pool):
            first.record_stream(side)
    del first
    torch.cuda.synchronize()

    x = torch.ones(N, dtype=torch.uint8, device="cuda")
    address = x.data_ptr()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(2_000_000_000)
        y.copy_(x)
    x.record_stream(side)
    with torch.cuda.use_mem_pool(pool):
        del x
    z = torch.empty(N, dtype=torch.uint8, device="cuda")
    reused, busy = z.data_ptr() == address, not side.query()
    z.fill_(2)
    torch.cuda.synchronize()
    print(f"first tensor's use recorded in a pool {in_pool!s:5}: x's address reused {reused}, "
          f"other stream busy {busy}, y holds {y.unique().tolist()}")
    return y.unique().tolist() != [1]


assert not run(False)
sys.exit(1 if run(True) else 0)
