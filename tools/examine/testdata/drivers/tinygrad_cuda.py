# tinygrad: its cache by size over the driver's memory, which knows no streams: the host has waited before a free.
# gaugeblock examine --python tinygrad_cuda.py
import os

os.environ["DEV"] = "CUDA"
from tinygrad.device import BufferSpec, Device

contract = "waited"
spec = BufferSpec()
live = {}


def allocator(device):
    return Device[f"CUDA:{device}" if device else "CUDA"].allocator


def malloc(size, device, stream):
    buffer = allocator(device).alloc(size, spec)
    live[buffer.value] = buffer
    return buffer.value


def free(pointer, size, device, stream):
    allocator(device).free(live.pop(pointer), size, spec)


def empty_cache():
    for name in list(Device._opened_devices):
        if name.startswith("CUDA"):
            Device[name].allocator.free_cache()
