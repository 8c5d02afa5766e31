"""Capture fails without need: with graph_capture_record_stream_reuse:True leaving a pool's context in a
capture fails an assertion.

The capture itself is not over, but the end of the pool's use is taken for its end. Requests of the thread go
to that pool for ever.
"""
import os

import torch

x = torch.zeros(1 << 20, device="cuda")
x.add_(1)
pool = torch.cuda.MemPool()


def capture(reuse):
    torch._C._accelerator_setAllocatorSettings(f"graph_capture_record_stream_reuse:{reuse}")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        x.add_(1)
        error = ""
        try:
            with torch.cuda.use_mem_pool(pool):
                x + 1
        except RuntimeError as e:
            error = str(e).splitlines()[0]
        graph.capture_end()
    count = pool.use_count()
    big = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    new = [s for s in torch.cuda.memory_snapshot() if s["address"] <= big.data_ptr() < s["address"] + s["total_size"]]
    print(f"graph_capture_record_stream_reuse:{reuse}: {error or 'no error'}; use count {count} afterwards; "
          f"a tensor made afterwards lies in the pool: {tuple(new[0]['segment_pool_id']) == tuple(pool.id)}", flush=True)
    return bool(error)


assert not capture(False)
os._exit(1 if capture(True) else 0)
