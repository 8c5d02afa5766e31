# numba-cuda: its memory manager, which keeps frees back until there are enough of them. The host has
# waited for the stream before a free. gaugeblock examine --python numba_cuda.py
from numba import cuda

contract = "waited"
live = {}


def malloc(size, device, stream):
    with cuda.gpus[device]:
        memory = cuda.current_context().memalloc(size)
    address = memory.device_ctypes_pointer.value
    live[address] = memory
    return address


def free(pointer, size, device, stream):
    with cuda.gpus[device]:
        del live[pointer]


def empty_cache():
    for gpu in cuda.gpus:
        with gpu:
            cuda.current_context().memory_manager.deallocations.clear()
