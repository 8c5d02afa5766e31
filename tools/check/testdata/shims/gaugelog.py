import threading, time

class Log:
    """Writes what an allocator does, a line a call, for "gaugeblock check"."""

    def __init__(self, path):
        self.out, self.lock = open(path, "w"), threading.Lock()
        self.out.write("Thread,Time,Action,Pointer,Size,Stream\n")

    def __call__(self, action, pointer=0, size=0, stream=0):
        with self.lock:
            self.out.write(f"{threading.get_ident()},{time.time():.6f},{action},{pointer:#x},{size},{stream:#x}\n")

    # What the program gives to the device and waits for. Call these where it does so:
    # without them hazards cannot be looked for.

    def kernel(self, stream, reads=(), writes=()):
        for pointer in reads:
            self("read", pointer, 0, stream)
        for pointer in writes:
            self("write", pointer, 0, stream)

    def wait_stream(self, stream, other):
        self("wait", other, 0, stream)

    def record_event(self, event, stream):
        self("record event", event, 0, stream)

    def wait_event(self, event, stream):
        self("wait event", event, 0, stream)

    def synchronize(self, stream):
        self("synchronize", 0, 0, stream)

class Logged:
    """An allocator with allocate and free, or the driver below it (prefix "driver ")."""

    def __init__(self, inner, log, prefix=""):
        self.inner, self.log, self.prefix = inner, log, prefix

    def allocate(self, size, stream=0):
        try:
            pointer = self.inner.allocate(size, stream)
        except MemoryError:
            if not self.prefix:
                self.log("allocate failure", 0, size, stream)
            raise
        self.log(self.prefix + "allocate", pointer, size, stream)  # when it is certain
        return pointer

    def free(self, pointer, size, stream=0):
        self.log(self.prefix + "free", pointer, size, stream)  # before anyone can have it
        self.inner.free(pointer, size, stream)
