"""Out of memory without need: under expandable segments a request is refused that needs one more page, as if
it needed all of its size.

100 MiB are asked for. 80 MiB are free at the end of the segment, 20 MiB would be mapped, and 50 MiB are left
to the limit. In a pool's context or a capture, where nothing is released, the request fails.
"""
import sys

import torch

MiB = 1 << 20
torch._C._accelerator_setAllocatorSettings("expandable_segments:True")
total = torch.cuda.get_device_properties(0).total_memory


def run(limit):
    torch.cuda.set_per_process_memory_fraction(limit * MiB / total)
    pool = torch.cuda.MemPool()
    try:
        with torch.cuda.use_mem_pool(pool):
            for mib in (80, 100):
                torch.empty(mib * MiB, dtype=torch.uint8, device="cuda")
                print(f"limit {limit} MiB: {mib} MiB; reserved {torch.cuda.memory_reserved() // MiB} MiB")
        return False
    except torch.cuda.OutOfMemoryError as e:
        print(f"limit {limit} MiB: {str(e).split('.')[0]}; "
              f"reserved {torch.cuda.memory_reserved() // MiB} MiB, allocated {torch.cuda.memory_allocated() // MiB} MiB")
        return True


enough = run(200)
fault = run(130)
assert not enough
sys.exit(1 if fault else 0)
