"""A caching allocator with record_stream, for tests of the line protocol. Memory that other streams
have used is kept back until events behind their work are complete. Arguments:
    polls    empty_cache asks the events until they are complete, and does not wait for them
    ignores  the events are not asked
    stuck    no free succeeds any more when a request has failed for which the device had memory
    nothing  answers to malloc have no field
"""
import json
import sys


def say(**fields):
    print(json.dumps(fields), flush=True)


def call(name, **fields):
    global failed
    say(call=name, **fields)
    answer = json.loads(sys.stdin.readline())
    if name == "malloc" and "error" in answer:
        failed = failed or call("mem_info", device=fields["device"]).get("free", 0) >= fields["size"]
    return answer


class Allocator:
    def __init__(self):
        self.cache, self.uses, self.pending = {}, {}, []

    def malloc(self, device, stream, size):
        key = device, stream, (size + 511) // 512 * 512
        self.complete(False)
        if self.cache.get(key):
            return self.cache[key].pop()
        answer = call("malloc", device=device, size=key[2])
        if "error" in answer:
            self.empty_cache()
            answer = call("malloc", device=device, size=key[2])
        return answer.get("ptr", 0)

    def free(self, device, stream, size, ptr):
        events = []
        for d, s in self.uses.pop(ptr, []):
            if (d, s) != (device, stream):
                events.append(call("event_create", device=d)["event"])
                call("event_record", event=events[-1], device=d, stream=s)
        self.pending.append(((device, stream, (size + 511) // 512 * 512), ptr, events))

    def complete(self, all):
        kept = []
        for key, ptr, events in self.pending:
            while events and self.over(events[0], all):
                call("event_destroy", event=events.pop(0))
            if events:
                kept.append((key, ptr, events))
            else:
                self.cache.setdefault(key, []).append(ptr)
        self.pending = kept

    def over(self, event, all):
        if "ignores" in sys.argv:
            return True
        if all and "polls" not in sys.argv:
            call("event_synchronize", event=event)
            return True
        over = call("event_query", event=event)["complete"]
        while all and not over:
            over = call("event_query", event=event)["complete"]
        return over

    def empty_cache(self):
        self.complete(True)
        for (device, _, _), ptrs in self.cache.items():
            for ptr in ptrs:
                call("free", device=device, ptr=ptr)
        self.cache = {}


failed = False
for line in iter(sys.stdin.readline, ""):
    request = json.loads(line)
    do, where = request["do"], (request["device"], request["stream"])
    if do == "begin":
        allocator, failed = Allocator(), False
        say(contract="record_stream", empties=True)
    elif do == "malloc" and "nothing" in sys.argv:
        say()
    elif do == "malloc":
        say(ptr=allocator.malloc(*where, request["size"]))
    elif do == "free" and failed and "stuck" in sys.argv:
        say(error="stuck")
    elif do == "free":
        say(_=allocator.free(*where, request["size"], request["ptr"]))
    elif do == "record_stream":
        say(_=allocator.uses.setdefault(request["ptr"], set()).add(where))
    else:
        say(_=allocator.empty_cache())
