"""Silent corruption: while one thread captures a graph, record_stream() of an eager thread is without effect.

The eager thread and its streams take no part in the capture, as a thread that prefetches data. y must hold ones.
"""
import sys
import threading

import torch

N = 64 << 20
tiny = torch.zeros(1, device="cuda")
tiny.add_(1)


def eager(y, tensors, side):
    with torch.cuda.stream(side):
        torch.cuda._sleep(2_000_000_000)
        y.copy_(tensors[0])
    tensors[0].record_stream(side)
    tensors.clear()


def run(during_capture):
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    side = torch.cuda.Stream()
    y = torch.zeros(N, dtype=torch.uint8, device="cuda")
    tensors = [torch.ones(N, dtype=torch.uint8, device="cuda")]
    address = tensors[0].data_ptr()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    thread = threading.Thread(target=eager, args=(y, tensors, side))
    with torch.cuda.stream(torch.cuda.Stream()):
        if during_capture:
            graph.capture_begin(capture_error_mode="thread_local")
            tiny.add_(1)
        thread.start()
        thread.join()
        if during_capture:
            graph.capture_end()
    z = torch.empty(N, dtype=torch.uint8, device="cuda")
    reused, busy = z.data_ptr() == address, not side.query()
    z.fill_(2)
    torch.cuda.synchronize()
    print(f"during another thread's capture {during_capture!s:5}: x's address reused {reused}, "
          f"other stream busy {busy}, y holds {y.unique().tolist()}")
    return y.unique().tolist() != [1]


assert not run(False)
sys.exit(1 if run(True) else 0)
