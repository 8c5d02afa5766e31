"""Wrong figures: oversize_allocations goes below 0, or stays above it, when max_split_size_mb is changed; and
max_split_size shows what it once was.

Whether an allocation is oversize is asked when it is made, and again when it is freed.
"""
import sys

import torch

MiB = 1 << 20
UNLIMITED = "expandable_segments:False"
fault = False
for first, second in ((UNLIMITED, "max_split_size_mb:50"), ("max_split_size_mb:50", UNLIMITED)):
    before = torch.cuda.memory_stats().get("oversize_allocations.current", 0)
    torch._C._accelerator_setAllocatorSettings(first)
    x = torch.empty(100 * MiB, dtype=torch.uint8, device="cuda")
    torch._C._accelerator_setAllocatorSettings(second)
    del x
    torch.cuda.empty_cache()
    stats = torch.cuda.memory_stats()
    print(f"made under {first}, freed under {second}: {stats['allocated_bytes.all.current']} bytes allocated, "
          f"oversize_allocations.current {before} before and {stats['oversize_allocations.current']} after, "
          f"max_split_size {stats['max_split_size']}")
    fault |= stats["oversize_allocations.current"] != before
sys.exit(1 if fault else 0)
