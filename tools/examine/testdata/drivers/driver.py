"""A caching allocator that is examined by "gaugeblock examine -- python3 driver.py".

It keeps freed memory by device, stream and size. Called with the argument "broken" it
forgets the stream: then memory goes to another stream while work still uses it.
"""
import json
import sys


def say(**fields):
    print(json.dumps(fields), flush=True)


def call(name, **fields):
    """A call of the driver: its answer is the next line."""
    say(call=name, **fields)
    return json.loads(sys.stdin.readline())


class Allocator:
    def __init__(self, broken):
        self.broken, self.cache = broken, {}  # freed memory: (device, stream, size) to addresses

    def key(self, device, stream, size):
        return device, 0 if self.broken else stream, (size + 511) // 512 * 512

    def malloc(self, device, stream, size):
        key = self.key(device, stream, size)
        if self.cache.get(key):
            return self.cache[key].pop()
        answer = call("malloc", device=device, size=key[2])
        if "error" in answer:  # once more, without a cache
            self.empty_cache()
            answer = call("malloc", device=device, size=key[2])
        return answer.get("ptr", 0)

    def free(self, device, stream, size, ptr):
        self.cache.setdefault(self.key(device, stream, size), []).append(ptr)

    def empty_cache(self):
        for (device, _, _), ptrs in self.cache.items():
            for ptr in ptrs:
                call("free", device=device, ptr=ptr)
        self.cache = {}


allocator = None
for line in iter(sys.stdin.readline, ""):
    request = json.loads(line)
    do, where = request["do"], (request["device"], request["stream"], request.get("size", 0))
    if do == "begin":  # a new program: everything that was allocated is gone
        allocator = Allocator("broken" in sys.argv[1:])
        say(contract="joined", empties=True)
    elif do == "malloc":
        say(ptr=allocator.malloc(*where))
    elif do == "free":
        allocator.free(*where, request["ptr"])
        say()
    elif do == "empty_cache":
        allocator.empty_cache()
        say()
    else:
        say(error=f"there is no {do}")
