import sys

import torch

LIBRARY = sys.argv[1] if len(sys.argv) > 1 else "LIBRARY_PATH"
allocator = torch.cuda.memory.CUDAPluggableAllocator(LIBRARY, "MALLOC", "FREE")
HOOKS
torch.cuda.memory.change_current_allocator(allocator)

tensors, streams, events = {}, {}, {}


def on(device, stream):
    """The stream of a number, made when it is named for the first time; 0 is the default stream."""
    torch.cuda.set_device(device)
    if stream == 0:
        return torch.cuda.default_stream(device)
    if (device, stream) not in streams:
        streams[device, stream] = torch.cuda.Stream(device)
    return streams[device, stream]


def allocate(id, device, stream, size):
    with torch.cuda.stream(on(device, stream)):
        try:
            tensors[id] = torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")
            print(f"allocation {id}: {size} bytes on stream {stream} are at {tensors[id].data_ptr():#x}")
        except RuntimeError as error:
            print(f"allocation {id}: {error}")


def release(id):
    tensors.pop(id, None)


def record_stream(id, device, stream):
    if id in tensors:
        tensors[id].record_stream(on(device, stream))


def empty_cache():
    torch.cuda.empty_cache()


def kernel(device, stream, reads, writes):
    """Reads add up the bytes; writes fill them with the number of the allocation."""
    with torch.cuda.stream(on(device, stream)):
        for id in reads:
            torch.sum(tensors[id])
        for id in writes:
            tensors[id].fill_(id % 251)


def copy(device, stream, to, source, size):
    with torch.cuda.stream(on(device, stream)):
        tensors[to][:size].copy_(tensors[source][:size], non_blocking=True)


def record_event(device, stream, event):
    events[event] = on(device, stream).record_event()


def wait_event(device, stream, event):
    on(device, stream).wait_event(events[event])


def wait_stream(device, stream, other):
    on(device, stream).wait_stream(on(device, other))


def synchronize(device, stream):
    on(device, stream).synchronize()


def busy(device, stream):
    """Work that takes about a second."""
    with torch.cuda.stream(on(device, stream)):
        torch.cuda._sleep(10**9)


drain = synchronize


PROGRAM
