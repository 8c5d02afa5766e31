"""Capture fails without need: with garbage_collection_threshold an allocation in a capture calls cudaFree.

There is memory enough: without the threshold the same capture succeeds. (The memory that was not freed counts
as freed in num_device_free.)
"""
import sys

import torch

MiB = 1 << 20
total = torch.cuda.get_device_properties(0).total_memory
torch.empty(MiB, dtype=torch.uint8, device="cuda").zero_()
torch.cuda.set_per_process_memory_fraction(400 * MiB / total)


def capture(settings):
    torch._C._accelerator_setAllocatorSettings(settings)
    large = torch.zeros(240 * MiB, dtype=torch.uint8, device="cuda")
    before = {}
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            before = torch.cuda.memory_stats()
            del large
            torch.empty(30 * MiB, dtype=torch.uint8, device="cuda").zero_()
        print(f"settings '{settings}': captured")
        return False
    except RuntimeError as e:
        after = torch.cuda.memory_stats()
        print(f"settings '{settings}': {str(e.__context__ or e).splitlines()[0]}; num_device_free has risen by "
              f"{after['num_device_free'] - before['num_device_free']}, reserved bytes have fallen by "
              f"{before['reserved_bytes.all.current'] - after['reserved_bytes.all.current']}")
        return True


assert not capture("expandable_segments:False")
sys.exit(1 if capture("garbage_collection_threshold:0.5") else 0)
