"""Stands for PyTorch where there is none: as much of it as gb_record touches.

Nothing is allocated. perform.py tells what the allocator is to have done in the next
call, and it stands in the history afterwards.
"""
from . import _C, cuda

__version__ = "2.11.0"


class _Storage:
    def __init__(self, addr):
        self.addr = addr

    def data_ptr(self):
        return self.addr


class Tensor:
    def __init__(self, addr):
        self.storage = _Storage(addr)
        self.device = cuda.Device(0)

    def untyped_storage(self):
        return self.storage

    def record_stream(self, stream):
        _C.did()
