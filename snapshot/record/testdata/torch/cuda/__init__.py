from .. import _C
from . import memory
from .memory import MemPool, empty_cache

_current = None


class Device:
    def __init__(self, index):
        self.index = index


class Event:
    def record(self, stream=None):
        _C.did()

    def wait(self, stream=None):
        _C.did()


class Stream:
    def __init__(self, handle):
        self.cuda_stream = handle
        self.device = Device(0)

    def wait_stream(self, other):
        event = Event()
        event.record(other)
        event.wait(self)


class CUDAGraph:
    ended = False

    def capture_begin(self, pool=None, capture_error_mode="global"):
        self.taken = pool
        _C.did()

    def pool(self):
        if not self.ended:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self.taken

    def capture_end(self):
        _C.did()
        self.ended = True

    def reset(self):
        _C.did()


class Properties:
    total_memory = 0


def init():
    pass


def current_device():
    return 0


def device_count():
    return 1


def current_stream(device=None):
    return _current


def get_device_properties(device):
    return Properties


def get_device_name(device):
    return "a stub"


def get_allocator_backend():
    return "native"


def memory_stats(device):
    return _C.statistics


def mem_get_info(device):
    return _C.free, Properties.total_memory
