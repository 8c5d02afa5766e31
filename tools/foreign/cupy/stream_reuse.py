# CuPy 14.2.0 keys its cache by the handle of a stream. A new stream with the handle of a destroyed one
# gets memory that work of the old stream still uses.
import cupy

BYTES = 1 << 20
old = cupy.cuda.Stream(non_blocking=True)
with old:
    first = cupy.empty(BYTES, dtype="u1")
    first.data.memset_async(1, BYTES, old)
address, handle = first.data.ptr, old.ptr
del first, old  # cudaStreamDestroy returns at once, and the work goes on
new = cupy.cuda.Stream(non_blocking=True)
with new:
    second = cupy.empty(BYTES, dtype="u1")
    second.data.memset_async(2, BYTES, new)  # nothing puts this behind the first fill
print("same handle", handle == new.ptr, "same memory", address == second.data.ptr)
