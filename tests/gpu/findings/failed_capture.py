"""Out of memory without need, for ever: after a capture that failed nothing cached is released any more.

capture_end() raises an exception, as it should. But requests count as routed from then on: empty_cache() does
nothing, running out of memory releases nothing, and memory that two streams used is never reused.
(CUDAGraph.cpp: the end of the capture fails before the allocator hears of it.)
"""
import gc
import os

import torch

MiB = 1 << 20
total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction(1000 * MiB / total)
tiny = torch.zeros(1, device="cuda")
tiny.add_(1)


def run(name):
    cached = torch.empty(600 * MiB, dtype=torch.uint8, device="cuda")
    cached.record_stream(torch.cuda.Stream())
    del cached
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    print(f"{name}: after empty_cache() {torch.cuda.memory_reserved() // MiB} MiB reserved, "
          f"{torch.cuda.memory_allocated() // MiB} MiB allocated")
    try:
        torch.empty(800 * MiB, dtype=torch.uint8, device="cuda")
        torch.cuda.empty_cache()
        print(f"{name}: 800 MiB")
        return False
    except torch.cuda.OutOfMemoryError as e:
        print(f"{name}: {str(e).split('.')[0]}")
        return True


assert not run("before")
main = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
with torch.cuda.stream(main):
    graph.capture_begin()
    try:
        tiny.add_(1)
        torch.cuda.synchronize()
    except Exception as e:
        print("in the capture:", str(e).splitlines()[0])
    try:
        graph.capture_end()
    except Exception as e:
        print("capture_end():", str(e).splitlines()[0])
print("a stream is capturing:", torch.cuda.is_current_stream_capturing(), "and a kernel runs:", tiny.add_(1).item())
del graph
gc.collect()
fault = run("after")
os._exit(1 if fault else 0)
