"""Records the requests of a program to PyTorch's CUDA caching allocator, as a trace.

    import gb_record                        # before the first CUDA tensor
    gb_record.start("trace.jsonl.gz")       # or run with GB_RECORD=trace.jsonl.gz

The trace is written when the program ends, or at gb_record.stop(). In the file name,
{pid} stands for the process, {rank} for the environment variable RANK.
`gaugeblock replay trace.jsonl.gz` replays it. Needs PyTorch 2.10 or later.

How it works. The allocator's own history (torch.cuda.memory._record_memory_history)
has every allocation, free and driver call in order, at some 100 ns an entry. It lacks
other calls of the allocator: record_stream, pools, captures, checkpoints, limits,
settings, empty_cache. Those come from Python, so they are wrapped here and recorded.
When the recording ends, history and calls are merged into one trace:

- Each history entry has the string that its thread set last with
  torch.cuda.memory._set_memory_metadata. The wrappers set it to "gb THREAD EPOCH", a
  new epoch before and after each recorded call. So the thread of an entry is known, and
  which calls of that thread came before. Threads without a recorded call (autograd's)
  have no string. Among their entries a call is placed by the time.
- A block with stream uses becomes free when the work of the streams has completed.
  Where that was late, the trace has a further stream: it is busy, is recorded as using
  the block, and drains just before the operation in which the block became free.
"""
import atexit
import bisect
import functools
import gzip
import itertools
import json
import os
import sys
import threading
import time


class Call:
    """A recorded call: the operation, and its place among the history entries.

    Entries of its thread with the epoch `during` were made in the call, those with
    `after` or more came later. A destructor cannot set an epoch at its end: there
    `during` equals `after`, and the segments that it freed come first.
    """

    def __init__(self, op, device, thread, during, after, time_us):
        self.op = op
        self.device = device
        self.thread = thread
        self.during = during
        self.after = after
        self.time_us = time_us


class Entry:
    """An entry of the allocator's history."""

    __slots__ = ("action", "addr", "size", "stream", "time_us", "thread", "epoch")

    def __init__(self, raw):
        self.action = raw["action"]
        self.addr = raw["device_free"] if self.action == "oom" else raw["addr"]
        self.size = raw["size"]
        self.stream = raw["stream"]
        self.time_us = raw.get("time_us", 0)
        self.thread = self.epoch = None
        words = raw.get("user_metadata", "").split(" ")
        if len(words) == 3 and words[0] == "gb":
            self.thread, self.epoch = int(words[1]), int(words[2])

    def event(self):
        return [self.action, self.addr, self.size, self.stream]


# ---------------------------------------------------------------------------
# Merging: history and calls become operations. Nothing here needs PyTorch.


def merge(histories, calls, frees_segments=True):
    """The operations of a recording, in order, with stream handles for streams.

    histories: a list of Entry for each device. calls: the recorded calls. frees_segments:
    whether requests may have freed segments; if not, others have.
    """
    calls = sorted(calls, key=lambda call: call.after)
    placed = [Placed(history, calls) for history in histories]
    others = 1 + max((call.thread for call in calls), default=0)
    merger = Merger(len(histories), others, frees_segments)
    for i, call in enumerate(calls):
        inside = []
        for device, p in enumerate(placed):
            merger.entries(device, p.before[i])
            inside += merger.requests_inside(call, device, p.inside[i])
        merger.call(call, inside)
    for device, p in enumerate(placed):
        merger.entries(device, p.rest)
        merger.end_request(device)
    return [line for device_ops in BusyStreams(merger.ops, len(histories)).lines() for line in device_ops]


class Placed:
    """A device's history, divided at the calls.

    before[i] are the entries between calls i-1 and i, inside[i] those made in call i, and
    rest those after the last one.
    """

    def __init__(self, history, calls):
        self.before, self.inside = [], []
        epochs, places = {}, {}  # by thread: of its entries
        for place, e in enumerate(history):
            if e.thread is not None:
                epochs.setdefault(e.thread, []).append(e.epoch)
                places.setdefault(e.thread, []).append(place)
        taken = [False] * len(history)
        done = 0
        for call in calls:
            mine, at = epochs.get(call.thread, []), places.get(call.thread, [])
            inside = self.made_inside(call, history, mine, at)
            later = bisect.bisect_left(mine, call.after)
            low = at[later - 1] + 1 if later else 0
            high = at[later] if later < len(at) else len(history)
            if inside and call.during == call.after:
                low = high = inside[-1] + 1
            place = max(low, done)
            while place < high and (history[place].time_us <= call.time_us or self.in_a_free(history, place)):
                place += 1
            for i in inside:
                taken[i] = True
            self.before.append([history[i] for i in range(done, place) if not taken[i]])
            self.inside.append([history[i] for i in inside])
            done = place
        self.rest = history[done:]

    @staticmethod
    def in_a_free(history, place):
        """Whether the entries before and at the place may be of one free."""
        return place > 0 and [(e.action, e.addr) for e in history[place - 1 : place + 1]] == [
            ("free_requested", history[place].addr),
            ("free_completed", history[place].addr),
        ]

    @staticmethod
    def made_inside(call, history, mine, at):
        """The places of the entries that were made in the recorded call."""
        if call.during is None:
            return []
        first, end = bisect.bisect_left(mine, call.during), bisect.bisect_right(mine, call.during)
        if call.during < call.after:
            return at[first:end]
        places = []
        for place in at[first:end]:
            if history[place].action not in ("free_completed", "segment_free", "segment_unmap"):
                break
            places.append(place)
        if len(places) < end - first and history[at[first + len(places)]].action in ("alloc", "oom"):
            while places and history[places[-1]].action == "free_completed":  # they are the request's
                places.pop()
        return places


class Merger:
    """Builds operations from entries and calls.

    The allocator's lock is held for a whole request, so the entries of one are adjacent:
    frees that completed and segments that were allocated or freed, then the alloc or the
    oom. They are in `open` until that comes.
    """

    def __init__(self, devices, others, frees_segments):
        self.ops = []
        self.others = others  # the number of all threads without an epoch
        self.frees_segments = frees_segments
        self.open = [[] for _ in range(devices)]
        self.live = [{} for _ in range(devices)]  # addr -> id
        self.born = {}  # id -> stream
        self.used = {}  # id -> streams recorded as using it, without its own
        self.saved = {}  # checkpoint -> live allocations
        self.ids = itertools.count()

    def add(self, device, op, entries=()):
        self.ops.append({**op, "device": device, "events": [e.event() for e in entries]})

    # -- from the history

    def entries(self, device, entries):
        skip = None
        for i, e in enumerate(entries):
            if e is skip:
                continue
            if e.action == "free_requested":
                after = entries[i + 1] if i + 1 < len(entries) else None
                skip = self.free(device, e, after)
            elif e.action == "alloc":
                self.malloc(device, e, {})
            elif e.action == "oom":
                self.malloc(device, e, {"error": "oom"})
            elif e.action != "snapshot":
                self.open[device].append(e)

    def malloc(self, device, e, error):
        self.split_empty_cache(device, e)
        number = next(self.ids)
        op = {"op": "malloc", "id": number, "size": e.size, "stream": e.stream, **error}
        op["thread"] = self.others if e.thread is None else e.thread
        if not error:
            op["addr"] = e.addr
            self.live[device][e.addr] = number
            self.born[number] = e.stream
        entries, self.open[device] = self.open[device] + [e], []
        self.add(device, op, entries)

    def free(self, device, e, after):
        """Returns the entry after it if that is of the same free."""
        self.end_request(device)
        number = self.live[device].pop(e.addr, None)
        if number is None:
            raise ValueError("memory at %#x is freed that was allocated before the recording began" % e.addr)
        at_once = after is not None and (after.action, after.addr) == ("free_completed", e.addr)
        if at_once and not self.used.get(number):
            self.add(device, {"op": "free", "id": number}, [e, after])
            return after
        op = {"op": "free", "id": number, "addr": e.addr, "uses": bool(self.used.pop(number, None))}
        self.add(device, op, [e])
        return None

    def split_empty_cache(self, device, last):
        """Separates the entries of an emptied cache from those of the request.

        C++ code empties the cache too (cuDNN does). A request frees segments because the
        driver refused it memory, and allocates a segment or fails afterwards.
        """
        actions = [e.action for e in self.open[device]]
        freed = [i for i, action in enumerate(actions) if action in ("segment_free", "segment_unmap")]
        if not freed:
            return
        asked_again = any(a in ("segment_alloc", "segment_map", "oom") for a in actions[freed[-1] + 1 :] + [last.action])
        if self.frees_segments and asked_again:
            return
        rest = self.open[device][freed[-1] + 1 :]
        del self.open[device][freed[-1] + 1 :]
        self.end_request(device)
        self.open[device] = rest

    def end_request(self, device):
        """The open entries are of no request: the cache was emptied."""
        if self.open[device]:
            self.add(device, {"op": "empty_cache"}, self.open[device])
            self.open[device] = []

    # -- from the calls

    def requests_inside(self, call, device, entries):
        """Turns requests made inside a recorded call into operations before it.

        The begin of a capture allocates memory for the random generators, for example.
        Returns the entries of the call itself. Only a restore allocates and frees by itself.
        """
        if call.op["op"] == "restore":
            return entries
        own = [e for e in entries if e.action in ("segment_free", "segment_unmap", "free_completed")]
        if any(e.action in ("alloc", "free_requested") for e in entries):
            self.entries(device, entries)
            return []
        return own

    def call(self, call, inside):
        op = dict(call.op)
        op.setdefault("thread", call.thread)
        for device, entries in enumerate(self.open):
            if entries and entries[-1].thread == call.thread:  # and not during a request of another thread
                self.end_request(device)
        if op["op"] == "record_stream":
            addr = op.pop("addr")
            number = self.live[call.device].get(addr)
            if number is None:
                return  # not memory of the allocator
            op["id"] = number
            if op["stream"] != self.born[number]:
                self.used.setdefault(number, set()).add(op["stream"])
        elif op["op"] == "checkpoint":
            self.saved[op["state"]] = dict(self.live[call.device])
        elif op["op"] == "restore":
            self.restore(op, call.device, inside)
        self.add(call.device, op, inside)

    def restore(self, op, device, entries):
        """Finds which allocations a restore allocated again, and which it freed."""
        live, saved = self.live[device], self.saved[op["state"]]
        freed, again = set(), {}
        for e in entries:
            if e.action == "free_requested":
                if e.addr in again:
                    del again[e.addr]
                elif e.addr in live:
                    freed.add(live.pop(e.addr))
            elif e.action == "alloc" and e.addr in saved:
                again[e.addr] = saved[e.addr]
        live.update(again)
        op["live"] = sorted(again.values())
        op["freed"] = sorted(freed - set(again.values()))


class BusyStreams:
    """Adds the streams that delay frees until they completed.

    A block with uses would become free in the next request. Where the history shows that
    it became free in a later operation, a busy stream uses it until then. Blocks that
    became free in the same operation share a stream, which also keeps their order.
    """

    FIRST = 1 << 63  # above the handles of drivers, so that these streams come last

    def __init__(self, ops, devices):
        self.ops = ops
        self.routings = [0] * devices
        self.polls = [0] * devices  # requests so far in which a block could become free
        self.waiting = [{} for _ in range(devices)]  # addr -> (place of the free, polls then)
        self.drains = {}  # place of a free -> the place where its stream drains, None for never
        self.idle = [[] for _ in range(devices)]
        self.made = itertools.count(self.FIRST)
        for place, op in enumerate(ops):
            self.see(place, op)
        for waiting in self.waiting:
            for free, polls in waiting.values():
                if polls is not None:
                    self.drains[free] = None

    def see(self, place, op):
        """Finds in which operation an earlier free completes."""
        device, kind = op["device"], op["op"]
        waiting = self.waiting[device]
        if kind == "free" and "uses" in op:
            deferred = op["uses"] and self.routings[device] > 0  # a capture's end completes it
            waiting[op["addr"]] = (place, None if deferred else self.polls[device])
        completed = [e[1] for e in op["events"] if e[0] == "free_completed" and e[1] in waiting]
        for addr in completed:
            free, polls = waiting.pop(addr)
            at_once = self.ops[free]["uses"] and polls == self.polls[device] and len(completed) == 1
            if polls is not None and not at_once:
                self.drains[free] = place
        if kind == "pool_begin":
            self.routings[device] += 1
        elif kind == "pool_end":
            self.routings[device] -= 1
        elif kind in ("malloc", "empty_cache") and not self.routings[device]:
            self.polls[device] += 1

    def lines(self):
        """For each operation, itself and the operations to be inserted before it."""
        busy = {}  # (device, place where it drains) -> handle
        for place, op in enumerate(self.ops):
            device, lines = op["device"], []
            stream = busy.pop((device, place), None)
            if stream is not None:
                lines.append({"op": "drain", "device": device, "stream": stream})
                self.idle[device].append(stream)
            if place in self.drains:
                key = (device, self.drains[place])
                if key not in busy:
                    busy[key] = self.idle[device].pop() if self.idle[device] else next(self.made)
                    lines.append({"op": "busy", "device": device, "stream": busy[key]})
                lines.append({"op": "record_stream", "id": op["id"], "device": device, "stream": busy[key]})
            if op["op"] == "free":
                op = {key: value for key, value in op.items() if key not in ("addr", "uses")}
            yield lines + [op]


def add_capacity(ops, free, total):
    """Adds how much memory the device had left.

    free: bytes, by device, that were free for the allocator when it had reserved none.
    Other processes use the device too. Where a driver call shows that there was less or
    more memory, a device_free is inserted.
    """
    left = dict(enumerate(free))
    limited = {}
    for device in left:
        yield {"op": "device_free", "device": device, "bytes": left[device]}
    for op in ops:
        device, kind = op["device"], op["op"]
        if kind == "set_memory_fraction":
            limited[device] = op["allowed"] < total
        asked = refused_bytes(op) if kind == "malloc" and not limited.get(device) else None
        if asked is not None and left[device] >= asked:
            left[device] = asked - 1
            yield {"op": "device_free", "device": device, "bytes": left[device]}
        least, reserved = 0, 0  # least must be free beforehand
        for action, _, size, _ in op.get("events", ()):
            if action in ("segment_alloc", "segment_map"):
                reserved += size
                least = max(least, reserved)
            elif action in ("segment_free", "segment_unmap"):
                reserved -= size
        if least > left[device] and not limited.get(device):
            left[device] = least
            yield {"op": "device_free", "device": device, "bytes": least}
        left[device] -= reserved
        yield op


def refused_bytes(op):
    """The driver had less free memory than the result when it refused a request.

    None if it did not refuse. A request frees segments only after a refusal, and that
    memory was free afterwards.
    """
    events = op["events"]
    if events[-1][0] == "oom":
        return 1
    granted = [e[2] for e in events if e[0] == "segment_alloc"]
    if granted and any(e[0] == "segment_free" for e in events):
        return granted[-1]
    return None


def write_trace(path, header, ops, end):
    """Writes a trace, whole or not at all. Streams become indexes into the header."""
    streams = {0: 0}
    lines = []
    for op in ops:
        for key in ("stream", "on"):
            if key in op:
                op[key] = streams.setdefault(op[key], len(streams))
        for key in ("device", "thread"):
            if not op.get(key, 1):
                del op[key]
        lines.append(encode(op))
    header = {"format": "allocator-trace", "version": 2, **header, "streams": list(streams)}
    unfinished = path + ".part"
    opened = gzip.open(unfinished, "wt", 5) if path.endswith(".gz") else open(unfinished, "w")
    with opened as f:
        for line in itertools.chain([encode(header)], lines, [encode({"end": True, **end})]):
            f.write(line)
            f.write("\n")
    os.replace(unfinished, path)
    return len(lines)


def encode(value):
    return json.dumps(value, separators=(",", ":"))


def layout(segments, devices):
    """The segments of a snapshot in the form of a trace."""
    return [
        {
            "device": devices[s["device"]], "addr": s["address"], "size": s["total_size"], "stream": s["stream"],
            "type": s["segment_type"], "pool": list(s["segment_pool_id"]), "expandable": s["is_expandable"],
            "allocated": s["allocated_size"], "active": s["active_size"], "requested": s["requested_size"],
            "blocks": [[b["address"], b["size"], b["requested_size"], b["state"].replace("awaiting", "pending")] for b in s["blocks"]],
        }
        for s in sorted(segments, key=lambda s: (s["device"], s["address"]))
    ]  # fmt: skip


# ---------------------------------------------------------------------------
# Recording: this part runs in the recorded program.


class Recorder:
    def __init__(self, torch, path, max_entries):
        self.torch = torch
        self.path = path
        self.max_entries = max_entries
        self.pid = os.getpid()
        self.recording = False
        self.calls = []
        self.local = threading.local()
        self.threads = itertools.count()
        self.epochs = itertools.count(1)
        self.states = []  # checkpoints, kept so that no two have the same id()
        self.graphs = {}  # id(graph) -> what is released at its end
        self.numbers = itertools.count()
        self.missed = []  # calls that could not be recorded
        self.replaced = []
        self.lock = threading.Lock()
        self.finished = threading.Event()

    # -- recorded calls

    def mark(self):
        """Begins a new epoch of this thread."""
        if not hasattr(self.local, "thread"):
            self.local.thread = next(self.threads)
        epoch = next(self.epochs)
        self.torch._C._cuda_setMemoryMetadata("gb %d %d" % (self.local.thread, epoch))
        return epoch

    def add(self, op, device, during, after):
        self.calls.append(Call(op, device, self.local.thread, during, after, time.time_ns() // 1000))

    def wrap(self, owner, name, describe):
        """Records the calls of a function.

        describe(result, *args) returns the operations of a call, each as (device, fields).
        """
        original = getattr(owner, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def recorded(*args, **kwargs):
            if not self.recording:
                return original(*args, **kwargs)
            during = self.mark()
            result = original(*args, **kwargs)
            try:
                for device, op in describe(result, *args, **kwargs):
                    self.add(op, device, during, self.mark())
                    during = None
            except Exception as e:  # not an error of the program
                self.missed.append("%s: %r" % (name, e))
            return result

        self.replace(owner, name, original, recorded)
        for module in list(sys.modules.values()):  # that have imported it by name
            if getattr(module, "__name__", "").startswith("torch") and getattr(module, "__dict__", {}).get(name) is original:
                self.replace(module, name, original, recorded)

    def replace(self, owner, name, original, ours):
        setattr(owner, name, ours)
        self.replaced.append((owner, name, original, ours))

    def unwrap_all(self):
        """Restores the functions that were replaced, unless others have replaced them since."""
        for owner, name, original, ours in reversed(self.replaced):
            if getattr(owner, name) is ours:
                setattr(owner, name, original)

    def wrap_end(self, cls, describe):
        """Records the end of objects of a class."""
        before = getattr(cls, "__del__", lambda obj: None)

        def ended(obj):
            if self.recording:
                for device, op in describe(obj):
                    epoch = self.mark()
                    self.add(op, device, epoch, epoch)
            before(obj)

        self.replace(cls, "__del__", before, ended)

    # -- what is recorded

    def wrap_all(self):
        cuda, c = self.torch.cuda, self.torch._C
        self.wrap(self.torch.Tensor, "record_stream", self.record_stream)
        for name in ("_cuda_emptyCache", "_accelerator_emptyCache"):
            self.wrap(c, name, lambda result: [(cuda.current_device(), {"op": "empty_cache"})])
        for name in ("_accelerator_setAllocatorSettings", "_cuda_cudaCachingAllocator_set_allocator_settings"):
            self.wrap(c, name, lambda result, settings: [(cuda.current_device(), {"op": "configure", "settings": settings})])
        self.wrap(c, "_cuda_setMemoryFraction", lambda result, fraction, device: [self.fraction(fraction, device)])
        for name, op in (
            ("_cuda_resetPeakMemoryStats", "reset_peak_stats"),
            ("_accelerator_resetPeakStats", "reset_peak_stats"),
            ("_cuda_resetAccumulatedMemoryStats", "reset_accumulated_stats"),
            ("_accelerator_resetAccumulatedStats", "reset_accumulated_stats"),
        ):
            self.wrap(c, name, lambda result, device, op=op: [(device, {"op": op})])
        self.wrap(c, "_cuda_cudaCachingAllocator_enable", lambda result, on: [(cuda.current_device(), {"op": "enable", "enabled": bool(on)})])
        self.wrap_pools(cuda, c)
        self.wrap_graphs(cuda)

    def wrap_pools(self, cuda, c):
        def on_pool(op, **fields):
            return lambda result, device, pool: [(device, {"op": op, "pool": list(pool), **fields})]

        def by_stream(result, device, pool):
            stream = cuda.current_stream(device).cuda_stream
            return [(device, {"op": "pool_begin", "pool": list(pool), "by": "stream", "stream": stream})]

        self.wrap(c, "_cuda_beginAllocateCurrentStreamToPool", by_stream)
        for name in ("_cuda_beginAllocateCurrentThreadToPool", "_cuda_beginAllocateToPool"):
            self.wrap(c, name, on_pool("pool_begin", by="thread"))
        self.wrap(c, "_cuda_endAllocateToPool", on_pool("pool_end"))
        self.wrap(c, "_cuda_releasePool", on_pool("pool_release"))
        self.wrap(c, "_cuda_getCheckpointState", self.checkpoint)
        self.wrap(c, "_cuda_setCheckpointPoolState", self.restore)
        if hasattr(cuda, "MemPool"):
            self.wrap(cuda.MemPool, "__init__", self.pool_create)
            self.wrap_end(cuda.MemPool, self.pool_delete)

    def wrap_graphs(self, cuda):
        # Streams take part in a capture by waiting for an event in it.
        self.wrap(cuda.Event, "record", lambda result, event, stream=None: self.event("record_event", event, stream))
        self.wrap(cuda.Event, "wait", lambda result, event, stream=None: self.event("wait_event", event, stream))
        self.wrap(cuda.CUDAGraph, "capture_begin", self.capture_begin)
        ends = "capture_end_pre" if hasattr(cuda.CUDAGraph, "capture_end_pre") else "capture_end"  # which calls the former
        self.wrap(cuda.CUDAGraph, ends, self.capture_end)
        self.wrap(cuda.CUDAGraph, "reset", lambda result, graph: self.graph_end(graph))
        self.wrap_end(cuda.CUDAGraph, self.graph_end)

    def record_stream(self, result, tensor, stream):
        addr = tensor.untyped_storage().data_ptr()
        if addr:
            yield tensor.device.index, {"op": "record_stream", "addr": addr, "stream": stream.cuda_stream}

    def fraction(self, fraction, device):
        allowed = int(fraction * self.total(device))
        return device, {"op": "set_memory_fraction", "fraction": fraction, "allowed": allowed}

    def pool_create(self, result, pool, allocator=None, use_on_oom=False, no_split=False):
        pool._gb_device = self.torch.cuda.current_device()
        op = {"op": "pool_create", "pool": list(pool.id)}
        for name, on in (("use_on_oom", use_on_oom), ("no_split", no_split)):
            if on:
                op[name] = True
        yield pool._gb_device, op

    def pool_delete(self, pool):
        if hasattr(pool, "_gb_device"):
            yield pool._gb_device, {"op": "pool_delete", "pool": list(pool.id)}

    def checkpoint(self, state, device, pool):
        self.states.append((state, list(pool)))
        yield device, {"op": "checkpoint", "pool": list(pool), "state": len(self.states) - 1}

    def restore(self, result, device, state, stale, add_deleters):
        for number, (taken, pool) in enumerate(self.states):
            if taken is state:
                yield device, {"op": "restore", "pool": pool, "state": number}

    def event(self, kind, event, stream):
        if any(number is None for _, _, _, number in self.graphs.values()):
            stream = stream or self.torch.cuda.current_stream()
            if kind == "record_event":
                event._gb_number = next(self.numbers)
            if hasattr(event, "_gb_number"):
                yield stream.device.index, {"op": kind, "event": event._gb_number, "stream": stream.cuda_stream}

    def capture_begin(self, result, graph, pool=None, capture_error_mode="global", check_input_liveness=False):
        stream = self.torch.cuda.current_stream()
        device = stream.device.index
        begin = {"op": "pool_begin", "by": "capture", "stream": stream.cuda_stream}
        self.graphs[id(graph)] = [device, begin, stream.cuda_stream, None]
        yield device, {"op": "capture_begin", "stream": stream.cuda_stream, "mode": capture_error_mode}
        yield device, begin

    def capture_end(self, result, graph):
        captured = self.graphs[id(graph)]
        device, begin, stream, _ = captured
        begin["pool"] = pool = list(graph.pool())  # not known before
        captured[3] = next(self.numbers)
        yield device, {"op": "capture_end", "stream": stream, "graph": captured[3]}
        yield device, {"op": "pool_end", "pool": pool}

    def graph_end(self, graph):
        device, begin, _, number = self.graphs.pop(id(graph), (None, None, None, None))
        if number is not None:
            yield device, {"op": "graph_destroy", "graph": number}
            yield device, {"op": "pool_release", "pool": begin["pool"]}

    # -- beginning and end

    def total(self, device):
        return self.torch.cuda.get_device_properties(device).total_memory

    def start(self):
        torch = self.torch
        torch.cuda.init()
        if not hasattr(torch._C, "_cuda_setMemoryMetadata"):
            raise RuntimeError("gb_record: PyTorch %s is too old, 2.10 is needed" % torch.__version__)
        if torch.cuda.get_allocator_backend() != "native":
            raise RuntimeError("gb_record: records PyTorch's native allocator only")
        snapshot = torch.cuda.memory._snapshot()
        if snapshot["segments"]:
            raise RuntimeError("gb_record: start before the first CUDA tensor, or empty the cache first: memory is reserved already")
        self.settings = snapshot["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"]
        self.fresh = all(not any(self.statistics(d).values()) for d in range(torch.cuda.device_count()))
        self.wrap_all()
        torch.cuda.memory._record_memory_history(
            enabled="all", context=None, stacks="python", max_entries=self.max_entries, clear_history=True
        )
        self.recording = True
        self.mark()
        share = getattr(torch.cuda, "get_per_process_memory_fraction", lambda: 1)()
        if share < 1:
            device, op = self.fraction(share, torch.cuda.current_device())
            self.add(op, device, None, self.mark())
        threading.Thread(target=self.watch, name="gb_record", daemon=True).start()

    def watch(self):
        """Ends the recording before the history is full: it would lose its beginning."""
        while not self.finished.wait(1):
            for device in range(self.torch.cuda.device_count()):
                statistics = self.statistics(device)
                entries = statistics.get("allocation.all.allocated", 0) + 2 * statistics.get("allocation.all.freed", 0)
                if entries > 0.9 * self.max_entries:
                    self.stop("the history is nearly full, recording ends here (start(max_entries=...) keeps more)")
                    return

    def statistics(self, device):
        """The statistics by name, without max_split_size, which is a setting, and what a replay does not count."""
        left_out = ("max_split_size", "num_oom_rejections", "reserved_bytes_by_private_pools.")
        statistics = self.torch.cuda.memory_stats(device)
        return {name: value for name, value in statistics.items() if isinstance(value, int) and not name.startswith(left_out)}

    def stop(self, reason=None):
        with self.lock:
            if not self.recording or os.getpid() != self.pid:
                return
            torch = self.torch
            count = torch.cuda.device_count()
            for _ in range(10):
                statistics = [self.statistics(d) for d in range(count)]
                snapshot = torch.cuda.memory._snapshot()
                still = statistics == [self.statistics(d) for d in range(count)]
                if still:
                    break
            self.recording = False
            self.finished.set()
            torch.cuda.memory._record_memory_history(enabled=None)
            try:
                self.write(snapshot, statistics if still else None, reason)
            finally:
                self.unwrap_all()

    def write(self, snapshot, statistics, reason):
        torch = self.torch
        traces = snapshot["device_traces"]
        used = [d for d, trace in enumerate(traces) if trace or any(n.device == d for n in self.calls)] or [0]
        if any(len(traces[d]) >= self.max_entries for d in used if d < len(traces)):
            say("the history was full and has lost its beginning: nothing is written. Use start(max_entries=...) or stop() earlier")
            return
        devices = {d: i for i, d in enumerate(used)}  # those of the trace, without gaps
        calls = [n for n in self.calls if n.device in devices and self.is_whole(n.op)]
        for n in calls:
            n.device = devices[n.device]
        reserved = {d: sum(s["total_size"] for s in snapshot["segments"] if s["device"] == d) for d in used}
        ops = merge([[Entry(raw) for raw in traces[d]] for d in used], calls, self.frees_segments(statistics))
        free = [torch.cuda.mem_get_info(d)[0] + reserved[d] for d in used]
        kinds = {op["op"] for op in ops}
        header = {
            "source": "gb_record, torch " + torch.__version__, "device": torch.cuda.get_device_name(used[0]),
            "total_memory": self.total(used[0]), "devices": len(used), "settings": self.settings,
        }  # fmt: skip
        if "restore" in kinds or "capture_begin" in kinds:
            header["family"] = "checkpoint" if "restore" in kinds else "capture"
        end = {}
        if statistics is not None:
            end["layout"] = layout(snapshot["segments"], devices)
            end["stats"] = {name: value for name, value in statistics[used[0]].items() if self.fresh or name.endswith(".current")}
        count = write_trace(self.path, header, add_capacity(ops, free, header["total_memory"]), end)
        if reason:
            say(reason)
        for missed in self.missed[:3]:
            say("a call could not be recorded, so the trace may not replay: " + missed)
        say("%d operations in %s" % (count, self.path))


    def is_whole(self, op):
        """Whether its fields are known. The pool of a graph is known when its capture has ended."""
        if op["op"] == "pool_begin" and "pool" not in op:
            self.missed.append("the begin of a capture that did not end")
            return False
        return True

    def frees_segments(self, statistics):
        """Whether requests may have freed segments."""
        settings = [self.settings] + [n.op["settings"] for n in self.calls if n.op["op"] == "configure"]
        if any("garbage_collection" in text or "max_split" in text for text in settings):
            return True
        return not self.fresh or statistics is None or any(f.get("num_alloc_retries") for f in statistics)


def say(text):
    print("gb_record: " + text, file=sys.stderr)


recorder = None


def start(path=None, max_entries=2000000):
    """Begins to record. Call it before the first CUDA tensor is made.

    max_entries: the size of the history, some 200 bytes of host memory for each entry. An
    allocation and its free are three entries. When it is nearly full, the recording ends.
    """
    global recorder
    import torch

    if recorder is not None and recorder.recording:
        raise RuntimeError("gb_record: records already")
    path = path or os.environ.get("GB_RECORD") or "trace.jsonl.gz"
    path = path.replace("{pid}", str(os.getpid())).replace("{rank}", os.environ.get("RANK", "0"))
    recorder = Recorder(torch, path, max_entries)
    recorder.start()


def stop():
    """Ends the recording and writes the trace. That also happens at the end of the program."""
    if recorder is not None:
        recorder.stop()


atexit.register(stop)
if os.environ.get("GB_RECORD"):
    start()
