from .. import _C
from .._C import _cuda_endAllocateToPool  # by name, as the real one does


def empty_cache():
    _C._cuda_emptyCache()


def _snapshot():
    return {
        "segments": _C.segments,
        "device_traces": [_C.history],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": _C.settings},
    }


def _record_memory_history(enabled, **options):
    if enabled:
        _C.history = []


def end_pool(device, pool):
    _cuda_endAllocateToPool(device, pool)


class _MemPool:
    def __del__(self):
        _C.did()


class MemPool(_MemPool):
    ids = None  # of the next pool

    def __init__(self, allocator=None, use_on_oom=False, no_split=False):
        self.id = MemPool.ids
        _C.did()
