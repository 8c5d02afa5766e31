"""Illegal access: memory of the cache is passed to cudaFree if caching was switched off meanwhile.

torch.cuda.caching_allocator_delete() goes by what is on now, not by where the memory comes from. The driver
takes the whole segment, with a tensor in it, which must keep its fives.
"""
import os

import torch

MiB = 1 << 20
pointer = torch.cuda.caching_allocator_alloc(MiB)
tensor = torch.full((MiB,), 5, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
print(f"the tensor lies {tensor.data_ptr() - pointer} bytes behind the memory that is freed")
torch.cuda.memory.caching_allocator_enable(False)
torch.cuda.caching_allocator_delete(pointer)
torch.cuda.memory.caching_allocator_enable(True)
try:
    held = tensor.cpu().unique().tolist()
    print(f"the tensor holds {held}", flush=True)
    os._exit(1 if held != [5] else 0)
except torch.AcceleratorError as e:
    print("reading the tensor:", str(e).splitlines()[0], flush=True)
    os._exit(1)
