# CuPy 14.2.0 keeps memory of threads' default streams by id() of an object of the thread. When a thread
# has ended the next one gets its memory, which work of the first one's stream may still use.
import threading

import cupy

BYTES = 1 << 20
addresses = []


def work(value):
    stream = cupy.cuda.Stream.ptds
    with stream:
        memory = cupy.empty(BYTES, dtype="u1")
        memory.data.memset_async(value, BYTES, stream)
        addresses.append(memory.data.ptr)


for value in 1, 2:
    thread = threading.Thread(target=work, args=(value,))
    thread.start()
    thread.join()
print("same memory", addresses[0] == addresses[1])
