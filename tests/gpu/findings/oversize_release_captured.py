"""Silent corruption: memory that a captured graph uses is returned to the driver while the graph lives.

max_split_size_mb is set, and a limit. A second capture with the first one's pool runs out of memory, which
the program catches. The step that releases oversize blocks has by then freed a segment of the pool. The first
graph still writes there. The new tensor must hold fives.
"""
import sys

import torch

MiB = 1 << 20
torch._C._accelerator_setAllocatorSettings("max_split_size_mb:20")


def fill(mib, value):
    return torch.empty(mib * MiB, dtype=torch.uint8, device="cuda").fill_(value)


fill(1, 1)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    temporary = fill(60, 7)
    address = temporary.data_ptr()
    del temporary
graph.replay()
torch.cuda.synchronize()
before = torch.cuda.memory_reserved()
total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction((before + 64 * MiB) / total)
try:
    with torch.cuda.graph(torch.cuda.CUDAGraph(), pool=graph.pool(), capture_error_mode="relaxed"):
        fill(100, 9)
except torch.cuda.OutOfMemoryError as e:
    print("second capture:", str(e).split(".")[0])
print(f"reserved before {before // MiB} MiB, after {torch.cuda.memory_reserved() // MiB} MiB, the first graph is alive")
torch.cuda.set_per_process_memory_fraction(1.0)
tensor = fill(60, 5)
torch.cuda.synchronize()
print(f"a new tensor lies where the graph writes: {tensor.data_ptr() == address}; it holds {tensor.unique().tolist()}")
try:
    graph.replay()
    torch.cuda.synchronize()
    print(f"after graph.replay() it holds {tensor.unique().tolist()}")
    sys.exit(1 if tensor.unique().tolist() != [5] else 0)
except torch.AcceleratorError as e:
    print("replay:", str(e).splitlines()[0])
    sys.exit(1)
