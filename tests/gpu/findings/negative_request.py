"""Silent corruption after a wrong argument: a request of -1 bytes is served, with memory that others get too.

The size wraps around to 0 when it is rounded. The block of 0 bytes lies at the address that the next tensor
gets, and freeing it frees the tensor's memory. The tensor must keep its fives.
"""
import os
import sys

import torch

try:
    pointer = torch.cuda.caching_allocator_alloc(-1)
except Exception as e:
    print("refused:", str(e).splitlines()[0])
    sys.exit(0)
tensor = torch.full((512,), 5, dtype=torch.uint8, device="cuda")
print(f"a tensor made after a request of -1 bytes has the same address: {tensor.data_ptr() == pointer}")
torch.cuda.caching_allocator_delete(pointer)
other = torch.full((512,), 8, dtype=torch.uint8, device="cuda")
print(f"two tensors at one address: {tensor.data_ptr() == other.data_ptr()}; the first holds {tensor.cpu().unique().tolist()}")
sys.stdout.flush()
os._exit(1 if tensor.cpu().unique().tolist() != [5] else 0)
