"""Logs an allocator that forgets which streams use its memory: python3 demo.py LOG [sound]"""
import sys
from gaugelog import Log, Logged

class Driver:
    """Gives addresses, as cudaMalloc would."""
    def __init__(self): self.next = 0x7F0000000000
    def allocate(self, size, stream=0):
        self.next += size
        return self.next - size
    def free(self, pointer, size, stream=0): pass

class Allocator:
    """Keeps what it gets back, by size and stream. If it is sound it waits for others."""
    def __init__(self, driver, log, sound):
        self.driver, self.log, self.sound = driver, log, sound
        self.cache, self.uses, self.waiting = {}, {}, []
    def allocate(self, size, stream=0):
        for pointer, key in self.waiting:  # the fake device is done with everything
            self.log("free completed", pointer)
            self.cache.setdefault(key, []).append(pointer)
        self.waiting = []
        if self.cache.get((size, stream)):
            return self.cache[size, stream].pop()
        return self.driver.allocate(max(size, 2 << 20))
    def record_stream(self, pointer, stream):
        self.log("record stream", pointer, 0, stream)
        self.uses.setdefault(pointer, set()).add(stream)
    def free(self, pointer, size, stream=0):
        if self.uses.pop(pointer, None) and self.sound:
            self.waiting.append((pointer, (size, stream)))
        else:
            self.cache.setdefault((size, stream), []).append(pointer)

log = Log(sys.argv[1])
allocator = Allocator(Logged(Driver(), log, "driver "), log, "sound" in sys.argv)
logged = Logged(allocator, log)
one, two = 0x10, 0x20
a = logged.allocate(1024, one)
log.kernel(one, writes=[a])
log.wait_stream(two, one)
log.kernel(two, reads=[a])
allocator.record_stream(a, two)
logged.free(a, 1024, one)
b = logged.allocate(1024, one)        # the same memory, while two may still read it
log.kernel(one, writes=[b])
logged.free(b, 1024, one)
