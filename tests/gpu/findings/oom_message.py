"""Wrong figure: the message of an OutOfMemoryError counts free memory of pools as allocated.

No tensor is allocated. 60 MiB are free in a pool.
"""
import re
import sys

import torch

MiB = 1 << 20
total = torch.cuda.get_device_properties(0).total_memory
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    torch.empty(60 * MiB, dtype=torch.uint8, device="cuda")
torch.cuda.set_per_process_memory_fraction(100 * MiB / total)
print(f"memory_allocated() {torch.cuda.memory_allocated() // MiB} MiB")
try:
    torch.empty(300 * MiB, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError as e:
    said = str(e)[str(e).index("Of the allocated"):].split(". If")[0]
print(said)
sys.exit(0 if re.search(r"memory 0 bytes is allocated", said) else 1)
