# cuda.core: a memory resource over the driver's pools. gaugeblock examine --python cuda_core.py
import cuda.core as core

contract = "joined"
resources = {}
live = {}


class Handle:
    """A stream by its handle."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


def on(device, stream):
    gpu = core.Device(device)
    gpu.set_current()
    if device not in resources:
        resources[device] = core.DeviceMemoryResource(gpu)
    return gpu.create_stream(Handle(stream)) if stream > 2 else core.LEGACY_DEFAULT_STREAM


def malloc(size, device, stream):
    stream = on(device, stream)
    memory = resources[device].allocate(size, stream=stream)
    live[int(memory.handle)] = memory
    return int(memory.handle)


def free(pointer, size, device, stream):
    live.pop(pointer).close(on(device, stream))
