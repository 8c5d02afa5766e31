# CuPy 14.2.0: the cache of a memory pool that nobody has any more stays allocated, and nothing can give it back.
import gc

import cupy

BYTES = 1 << 30
held = lambda: cupy.cuda.runtime.memGetInfo()[1] - cupy.cuda.runtime.memGetInfo()[0]
cupy.cuda.runtime.free(0)
before = held()
for _ in range(3):
    pool = cupy.cuda.MemoryPool()
    memory = pool.malloc(BYTES)
    del memory, pool
    gc.collect()
    print("pool without owner:", (held() - before) >> 20, "MiB are held")
cupy.get_default_memory_pool().free_all_blocks()
print("after free_all_blocks of the default pool:", (held() - before) >> 20, "MiB")
pool = cupy.cuda.MemoryPool()
memory = pool.malloc(BYTES)
del memory
pool.free_all_blocks()
del pool
gc.collect()
print("after a pool that was emptied first:", (held() - before) >> 20, "MiB")
