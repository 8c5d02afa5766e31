"""Limit passed: under expandable segments a process holds more than set_per_process_memory_fraction() allows.

The limit is tested by the size of the request, rounded to 2 MiB, but pages of 20 MiB are mapped.
"""
import sys

import torch

MiB = 1 << 20
torch._C._accelerator_setAllocatorSettings("expandable_segments:True")
total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction(33 * MiB / total)
tensors = [torch.empty(12 * MiB, dtype=torch.uint8, device="cuda") for _ in range(2)]
reserved = torch.cuda.memory_reserved() / MiB
print(f"allowed {torch.cuda.get_per_process_memory_fraction() * total / MiB:.1f} MiB, reserved {reserved:.1f} MiB")
sys.exit(1 if reserved > 33 else 0)
