"""What the programs in Python use of PyTorch, in order to see which calls they make."""
import types

uint8 = "uint8"


class Stream:
    def __init__(self, device=None):
        print("Stream", device)

    def wait_stream(self, other):
        print("wait_stream")

    def synchronize(self):
        print("synchronize")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Tensor:
    def data_ptr(self):
        return 0

    def fill_(self, value):
        print("fill_", value)

    def record_stream(self, stream):
        print("record_stream")


def empty(size, dtype, device):
    print("empty", size, device)
    return Tensor()


def sum(tensor):
    print("sum")


class CUDAPluggableAllocator:
    def __init__(self, library, malloc, free):
        print("CUDAPluggableAllocator", malloc, free)

    def allocator(self):
        return types.SimpleNamespace(set_reset_fn=lambda address: print("set_reset_fn", address != 0))


cuda = types.SimpleNamespace(
    Stream=Stream,
    stream=lambda s: s,
    set_device=lambda d: None,
    default_stream=lambda d: Stream(d),
    empty_cache=lambda: print("empty_cache"),
    memory=types.SimpleNamespace(
        CUDAPluggableAllocator=CUDAPluggableAllocator,
        change_current_allocator=lambda a: print("change_current_allocator"),
    ),
)
