# An allocator in Python: freed memory is kept by device, stream and size. With FAULT=forgets_streams in
# the environment it is not kept by stream. gaugeblock examine --python module.py
import ctypes
import os

runtime = ctypes.CDLL("libcudart.so.13")
runtime.cudaMalloc.argtypes = ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t
runtime.cudaFree.argtypes = (ctypes.c_void_p,)

contract = "joined"
cache = {}


def key(size, device, stream):
    return device, 0 if os.environ.get("FAULT") == "forgets_streams" else stream, size


def malloc(size, device, stream):
    kept = cache.get(key(size, device, stream))
    if kept:
        return kept.pop()
    pointer = ctypes.c_void_p()
    if runtime.cudaMalloc(ctypes.byref(pointer), size) == 0:
        return pointer.value
    runtime.cudaGetLastError()
    empty_cache()
    if runtime.cudaMalloc(ctypes.byref(pointer), size) != 0:
        raise MemoryError(f"{size} bytes")
    return pointer.value


def free(pointer, size, device, stream):
    cache.setdefault(key(size, device, stream), []).append(pointer)


def empty_cache():
    for kept in cache.values():
        for pointer in kept:
            runtime.cudaFree(pointer)
    cache.clear()
