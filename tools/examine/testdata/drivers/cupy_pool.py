# CuPy: its memory pool, whose cache is kept by stream. CuPy has NVIDIA's runtime linked in; its module
# cupy_backends.cuda.api.runtime is built against the fake one first (tools/foreign/cupy/build.sh).
# gaugeblock examine --python cupy_pool.py
import cupy

contract = "joined"
pool = cupy.cuda.MemoryPool()
live = {}


def malloc(size, device, stream):
    with cupy.cuda.Device(device), cupy.cuda.ExternalStream(stream, device):
        memory = pool.malloc(size)
    live[memory.ptr] = memory
    return memory.ptr


def free(pointer, size, device, stream):
    with cupy.cuda.Device(device):
        del live[pointer]


def empty_cache():
    for device in range(cupy.cuda.runtime.getDeviceCount()):
        with cupy.cuda.Device(device):
            pool.free_all_blocks()


def end():  # the program is through with the allocator: what the pool has cached stays allocated in CuPy 14
    global pool
    live.clear()
    pool = None
