"""Silent corruption: a part of a segment is passed to cudaFree as if it were a segment.

A segment was split under a large max_split_size_mb. Under a smaller one its first part counts as oversize,
and is released to make room. cudaFree takes the whole segment, with the tensor behind it, which must keep its
fives.
"""
import os

import torch

MiB = 1 << 20


def fill(mib, value):
    return torch.empty(mib * MiB, dtype=torch.uint8, device="cuda").fill_(value)


total = torch.cuda.get_device_properties(0).total_memory
torch._C._accelerator_setAllocatorSettings("max_split_size_mb:200")
torch.cuda.set_per_process_memory_fraction(110 * MiB / total)
whole = fill(100, 1)
del whole
first, kept = fill(60, 4), fill(30, 5)
del first
torch.cuda.synchronize()
free = torch.cuda.mem_get_info()[0]
torch._C._accelerator_setAllocatorSettings("max_split_size_mb:40")
request = fill(30, 6)
torch.cuda.synchronize()
print(f"a request of 30 MiB, after which the device has {(torch.cuda.mem_get_info()[0] - free) // MiB} MiB more free than before")
torch.cuda.set_per_process_memory_fraction(1.0)
tensors = [request] + [fill(12, 8) for _ in range(10)]
torch.cuda.synchronize()
fault = 0
for tensor in tensors:
    begin = max(tensor.data_ptr(), kept.data_ptr()) - kept.data_ptr()
    end = min(tensor.data_ptr() + tensor.numel(), kept.data_ptr() + kept.numel()) - kept.data_ptr()
    if begin < end:
        print(f"bytes {begin // MiB} to {end // MiB} MiB of the tensor that was kept are a later tensor's, and hold "
              f"{kept[begin:end].cpu().unique().tolist()}")
        fault = 1
try:
    print(f"all of it: {kept.cpu().unique().tolist()}", flush=True)
except torch.AcceleratorError as e:
    print("all of it:", str(e).splitlines()[0], flush=True)
    fault = 1
os._exit(fault)
