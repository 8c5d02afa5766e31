"""The allocator: its history, and its clock, which advances by a microsecond when read.

The times of entries with metadata are off by some, now before and now behind: those
must find their place without.
"""
import threading

history = []
coming = []  # what the next call does
statistics = {}
segments = []
settings = ""
free = 0
now = 0
local = threading.local()


def tick():
    global now
    now += 1
    return now


def did():
    """A call was made and succeeded."""
    for action, addr, size, stream, *_ in coming:
        where = "device_free" if action == "oom" else "addr"
        metadata = getattr(local, "metadata", "")
        off = (9, -9)[len(history) % 2] if metadata else 0
        history.append({
            "action": action, where: addr, "size": size, "stream": stream, "time_us": tick() + off,
            "compile_context": "N/A", "user_metadata": metadata,
        })  # fmt: skip
    coming.clear()


def _cuda_setMemoryMetadata(text):
    local.metadata = text



def _cuda_getCheckpointState(device, pool):
    return object()


for _name in (
    "_cuda_emptyCache", "_accelerator_setAllocatorSettings", "_cuda_setMemoryFraction",
    "_cuda_resetPeakMemoryStats", "_cuda_resetAccumulatedMemoryStats",
    "_cuda_beginAllocateCurrentStreamToPool", "_cuda_beginAllocateCurrentThreadToPool",
    "_cuda_endAllocateToPool", "_cuda_releasePool", "_cuda_setCheckpointPoolState",
):  # fmt: skip
    globals()[_name] = lambda *args: did()
