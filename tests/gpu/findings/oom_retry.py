"""Out of memory without need: a request fails, and the same request right after it succeeds.

The last step of a request waits until memory that other streams used has become free. Then it asks the driver
again, but does not look at the memory that has become free, which would have done.
"""
import sys

import torch

MiB = 1 << 20
total = torch.cuda.get_device_properties(0).total_memory
side = torch.cuda.Stream()


def empty(mib):
    return torch.empty(mib * MiB, dtype=torch.uint8, device="cuda")


torch.cuda.set_per_process_memory_fraction(110 * MiB / total)
whole = empty(100)
del whole
used, kept = empty(60), empty(40)
with torch.cuda.stream(side):
    torch.cuda._sleep(1_000_000_000)
used.record_stream(side)
del used
failed = False
for attempt in (1, 2):
    try:
        got = empty(60)
        print(f"attempt {attempt}: 60 MiB")
    except torch.cuda.OutOfMemoryError as e:
        print(f"attempt {attempt}:", str(e).split(" GPU 0")[0], str(e)[str(e).find("Of the allocated"):].split(". If")[0])
        failed = attempt == 1
sys.exit(1 if failed and attempt == 2 and got.numel() else 0)
