"""Records what a program asks of PyTorch's CUDA caching allocator, as a trace.

    import gb_record                        # before the first CUDA tensor
    gb_record.start("trace.jsonl.gz")       # or run with GB_RECORD=trace.jsonl.gz

The trace is written when the program ends, or at gb_record.stop(). In the name,
{pid} stands for the process, {rank} for the environment variable RANK.
`gaugeblock replay trace.jsonl.gz` replays it. Needs PyTorch 2.10 or later.

How it works. The allocator's own history (torch.cuda.memory._record_memory_history)
lists every allocation, free and driver call in order, at some 100 ns an entry. It
lacks what the allocator was told beside: streams that use a block, pools, captures,
checkpoints, limits, settings, emptying. Those calls come from Python, so they are
wrapped here, and noted in a journal. When the recording ends, history and journal are
woven into one trace:

- Each history entry carries the string that its thread set last with
  torch.cuda.memory._set_memory_metadata. The wrappers set it to "gb THREAD EPOCH", a
  new epoch before and after each noted call. So an entry tells its thread, and which
  calls of that thread came before. Threads that never make a noted call (autograd's)
  carry no string; among their entries a call is placed by the clock.
- A block that other streams use becomes free when the GPU has got that far. Where that
  was late, the trace says so with a stream of its own, a gate: it is busy, is noted as
  using the block, and drains just before the operation in which the block became free.
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


class Note:
    """A noted call: the operation, and where among the history entries it belongs.

    Entries of its thread with the epoch `during` were made in the call, those with
    `after` or more came later. A destructor cannot set an epoch when it is done: there
    `during` equals `after`, and what it gave back to the driver comes first.
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
# Weaving: history and journal become operations. Nothing here needs PyTorch.


def weave(histories, notes, gives_back=True):
    """The operations of a recording, in order, with stream handles for streams.

    histories: a list of Entry for each device. notes: the journal. gives_back: whether
    requests may have given memory back to the driver; if not, others have.
    """
    notes = sorted(notes, key=lambda note: note.after)
    placed = [Placed(history, notes) for history in histories]
    others = 1 + max((note.thread for note in notes), default=0)
    weaver = Weaver(len(histories), others, gives_back)
    for i, note in enumerate(notes):
        inside = []
        for device, p in enumerate(placed):
            weaver.entries(device, p.before[i])
            inside += weaver.requests_inside(note, device, p.inside[i])
        weaver.note(note, inside)
    for device, p in enumerate(placed):
        weaver.entries(device, p.rest)
        weaver.end_request(device)
    return [line for device_ops in Gates(weaver.ops, len(histories)).lines() for line in device_ops]


class Placed:
    """A device's history, cut at the notes.

    before[i] are the entries between notes i-1 and i, inside[i] those made in the call
    of note i, and rest those after the last one.
    """

    def __init__(self, history, notes):
        self.before, self.inside = [], []
        epochs, places = {}, {}  # by thread: of its entries
        for place, e in enumerate(history):
            if e.thread is not None:
                epochs.setdefault(e.thread, []).append(e.epoch)
                places.setdefault(e.thread, []).append(place)
        taken = [False] * len(history)
        done = 0
        for note in notes:
            mine, at = epochs.get(note.thread, []), places.get(note.thread, [])
            inside = self.made_inside(note, history, mine, at)
            later = bisect.bisect_left(mine, note.after)
            low = at[later - 1] + 1 if later else 0
            high = at[later] if later < len(at) else len(history)
            if inside and note.during == note.after:
                low = high = inside[-1] + 1
            place = max(low, done)
            while place < high and (history[place].time_us <= note.time_us or self.in_a_free(history, place)):
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
    def made_inside(note, history, mine, at):
        """The places of the entries that were made in the noted call."""
        if note.during is None:
            return []
        first, end = bisect.bisect_left(mine, note.during), bisect.bisect_right(mine, note.during)
        if note.during < note.after:
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


class Weaver:
    """Builds operations from entries and notes.

    An allocator's lock is held for a whole request, so the entries of one stand
    together: what became free and what the driver gave or got back, then the alloc, or
    the oom. They wait in `open` until that comes.
    """

    def __init__(self, devices, others, gives_back):
        self.ops = []
        self.others = others  # stands for all threads without an epoch
        self.gives_back = gives_back
        self.open = [[] for _ in range(devices)]
        self.live = [{} for _ in range(devices)]  # addr -> id
        self.born = {}  # id -> stream
        self.used = {}  # id -> streams noted as using it, but for its own
        self.saved = {}  # checkpoint -> what was live
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
        self.split_emptying(device, e)
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
        """Returns the entry after it if that belongs to it too."""
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

    def split_emptying(self, device, last):
        """Sees whether what waits is of the request alone.

        C++ code empties the cache too (cuDNN does). What a request gives back, it gives
        back because the driver refused it memory, which it asks for again afterwards.
        """
        actions = [e.action for e in self.open[device]]
        gave = [i for i, action in enumerate(actions) if action in ("segment_free", "segment_unmap")]
        if not gave:
            return
        asked_again = any(a in ("segment_alloc", "segment_map", "oom") for a in actions[gave[-1] + 1 :] + [last.action])
        if self.gives_back and asked_again:
            return
        rest = self.open[device][gave[-1] + 1 :]
        del self.open[device][gave[-1] + 1 :]
        self.end_request(device)
        self.open[device] = rest

    def end_request(self, device):
        """What waits belongs to no request: somebody emptied the cache."""
        if self.open[device]:
            self.add(device, {"op": "empty_cache"}, self.open[device])
            self.open[device] = []

    # -- from the journal

    def requests_inside(self, note, device, entries):
        """Turns requests made inside a noted call into operations before it.

        A capture's begin allocates what the random generators need, for example. What
        is left is the call's own. Only a restore allocates and frees by itself.
        """
        if note.op["op"] == "restore":
            return entries
        own = [e for e in entries if e.action in ("segment_free", "segment_unmap", "free_completed")]
        if any(e.action in ("alloc", "free_requested") for e in entries):
            self.entries(device, entries)
            return []
        return own

    def note(self, note, inside):
        op = dict(note.op)
        op.setdefault("thread", note.thread)
        for device, entries in enumerate(self.open):
            if entries and entries[-1].thread == note.thread:  # and not amid a request of another one
                self.end_request(device)
        if op["op"] == "record_stream":
            addr = op.pop("addr")
            number = self.live[note.device].get(addr)
            if number is None:
                return  # not the allocator's
            op["id"] = number
            if op["stream"] != self.born[number]:
                self.used.setdefault(number, set()).add(op["stream"])
        elif op["op"] == "checkpoint":
            self.saved[op["state"]] = dict(self.live[note.device])
        elif op["op"] == "restore":
            self.restore(op, note.device, inside)
        self.add(note.device, op, inside)

    def restore(self, op, device, entries):
        """Finds which allocations a restore brought back, and which it ended."""
        live, saved = self.live[device], self.saved[op["state"]]
        ended, back = set(), {}
        for e in entries:
            if e.action == "free_requested":
                if e.addr in back:
                    del back[e.addr]
                elif e.addr in live:
                    ended.add(live.pop(e.addr))
            elif e.action == "alloc" and e.addr in saved:
                back[e.addr] = saved[e.addr]
        live.update(back)
        op["live"] = sorted(back.values())
        op["freed"] = sorted(ended - set(back.values()))


class Gates:
    """Adds the gates: what holds blocks back until they became free.

    A block with uses would become free in the next request. Where the history says that
    it became free in a later operation, a gate holds it until then. Blocks that became
    free in the same operation share one, which also keeps them in order.
    """

    FIRST = 1 << 63  # above the handles that drivers give, so that gates are seen to last

    def __init__(self, ops, devices):
        self.ops = ops
        self.redirects = [0] * devices
        self.chances = [0] * devices  # requests so far in which a block could become free
        self.waiting = [{} for _ in range(devices)]  # addr -> (place of the free, chances then)
        self.opens = {}  # place of a free -> the place where its gate opens, None for never
        self.idle = [[] for _ in range(devices)]
        self.made = itertools.count(self.FIRST)
        for place, op in enumerate(ops):
            self.see(place, op)
        for waiting in self.waiting:
            for free, chances in waiting.values():
                if chances is not None:
                    self.opens[free] = None

    def see(self, place, op):
        """Notes which operation lets which earlier free complete."""
        device, kind = op["device"], op["op"]
        waiting = self.waiting[device]
        if kind == "free" and "uses" in op:
            deferred = op["uses"] and self.redirects[device] > 0  # a capture's end completes it
            waiting[op["addr"]] = (place, None if deferred else self.chances[device])
        completed = [e[1] for e in op["events"] if e[0] == "free_completed" and e[1] in waiting]
        for addr in completed:
            free, chances = waiting.pop(addr)
            at_once = self.ops[free]["uses"] and chances == self.chances[device] and len(completed) == 1
            if chances is not None and not at_once:
                self.opens[free] = place
        if kind == "pool_begin":
            self.redirects[device] += 1
        elif kind == "pool_end":
            self.redirects[device] -= 1
        elif kind in ("malloc", "empty_cache") and not self.redirects[device]:
            self.chances[device] += 1

    def lines(self):
        """For each operation, itself and what goes before it."""
        closed = {}  # (device, place where it opens) -> handle
        for place, op in enumerate(self.ops):
            device, lines = op["device"], []
            gate = closed.pop((device, place), None)
            if gate is not None:
                lines.append({"op": "drain", "device": device, "stream": gate})
                self.idle[device].append(gate)
            if place in self.opens:
                key = (device, self.opens[place])
                if key not in closed:
                    closed[key] = self.idle[device].pop() if self.idle[device] else next(self.made)
                    lines.append({"op": "busy", "device": device, "stream": closed[key]})
                lines.append({"op": "record_stream", "id": op["id"], "device": device, "stream": closed[key]})
            if op["op"] == "free":
                op = {key: value for key, value in op.items() if key not in ("addr", "uses")}
            yield lines + [op]


def tell_capacity(ops, free, total):
    """Tells the replay how much memory the device had left.

    free: bytes, by device, that were free for the allocator when it held none. Others
    use the card too, so wherever the driver's answers show that there was less, or
    more, a device_free says so.
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
        least, held = 0, 0  # what must be free beforehand
        for action, _, size, _ in op.get("events", ()):
            if action in ("segment_alloc", "segment_map"):
                held += size
                least = max(least, held)
            elif action in ("segment_free", "segment_unmap"):
                held -= size
        if least > left[device] and not limited.get(device):
            left[device] = least
            yield {"op": "device_free", "device": device, "bytes": least}
        left[device] -= held
        yield op


def refused_bytes(op):
    """How much the driver must have had less than for the request to go as it went.

    None if it was not refused. A request gives back memory only after a refusal, and
    what it gave back was there afterwards.
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
    """The segments of a snapshot as a trace draws them."""
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
# Recording: this part lives in the program that is recorded.


class Recorder:
    def __init__(self, torch, path, max_entries):
        self.torch = torch
        self.path = path
        self.max_entries = max_entries
        self.pid = os.getpid()
        self.recording = False
        self.notes = []
        self.local = threading.local()
        self.threads = itertools.count()
        self.epochs = itertools.count(1)
        self.states = []  # checkpoints, kept so that no two have the same id()
        self.graphs = {}  # id(graph) -> what its end releases
        self.numbers = itertools.count()
        self.missed = []  # calls that could not be noted
        self.replaced = []
        self.lock = threading.Lock()
        self.finished = threading.Event()

    # -- the journal

    def mark(self):
        """Begins a new epoch of this thread."""
        if not hasattr(self.local, "thread"):
            self.local.thread = next(self.threads)
        epoch = next(self.epochs)
        self.torch._C._cuda_setMemoryMetadata("gb %d %d" % (self.local.thread, epoch))
        return epoch

    def add(self, op, device, during, after):
        self.notes.append(Note(op, device, self.local.thread, during, after, time.time_ns() // 1000))

    def wrap(self, owner, name, describe):
        """Notes the calls of a function.

        describe(result, *args) gives the operations that a call was, each as (device,
        fields).
        """
        original = getattr(owner, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def noted(*args, **kwargs):
            if not self.recording:
                return original(*args, **kwargs)
            during = self.mark()
            result = original(*args, **kwargs)
            try:
                for device, op in describe(result, *args, **kwargs):
                    self.add(op, device, during, self.mark())
                    during = None
            except Exception as e:  # is not the program's
                self.missed.append("%s: %r" % (name, e))
            return result

        self.replace(owner, name, original, noted)
        for module in list(sys.modules.values()):  # that have imported it by name
            if getattr(module, "__name__", "").startswith("torch") and getattr(module, "__dict__", {}).get(name) is original:
                self.replace(module, name, original, noted)

    def replace(self, owner, name, original, ours):
        setattr(owner, name, ours)
        self.replaced.append((owner, name, original, ours))

    def unwrap_all(self):
        """Puts back what was replaced, unless somebody else has replaced it since."""
        for owner, name, original, ours in reversed(self.replaced):
            if getattr(owner, name) is ours:
                setattr(owner, name, original)

    def wrap_end(self, cls, describe):
        """Notes the end of objects of a class."""
        before = getattr(cls, "__del__", lambda obj: None)

        def ended(obj):
            if self.recording:
                for device, op in describe(obj):
                    epoch = self.mark()
                    self.add(op, device, epoch, epoch)
            before(obj)

        self.replace(cls, "__del__", before, ended)

    # -- what is noted

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
        self.wrap(cuda.CUDAGraph, "capture_end", self.capture_end)
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

    def capture_begin(self, result, graph, pool=None, capture_error_mode="global"):
        stream = self.torch.cuda.current_stream()
        device = stream.device.index
        begin = {"op": "pool_begin", "by": "capture", "stream": stream.cuda_stream}
        self.graphs[id(graph)] = [device, begin, stream.cuda_stream, None]
        yield device, {"op": "capture_begin", "stream": stream.cuda_stream, "mode": capture_error_mode}
        yield device, begin

    def capture_end(self, result, graph):
        captured = self.graphs[id(graph)]
        device, begin, stream, _ = captured
        begin["pool"] = pool = list(graph.pool())  # only now the graph tells
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
            raise RuntimeError("gb_record: start before the first CUDA tensor, or empty the cache first: memory is held already")
        self.settings = snapshot["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"]
        self.fresh = all(not any(self.figures(d).values()) for d in range(torch.cuda.device_count()))
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
                figures = self.figures(device)
                entries = figures.get("allocation.all.allocated", 0) + 2 * figures.get("allocation.all.freed", 0)
                if entries > 0.9 * self.max_entries:
                    self.stop("the history is nearly full, recording ends here (start(max_entries=...) keeps more)")
                    return

    def figures(self, device):
        """The statistics by name, but for max_split_size, which is a setting."""
        figures = dict(self.torch.cuda.memory_stats(device))
        figures.pop("max_split_size", None)
        return {name: value for name, value in figures.items() if isinstance(value, int)}

    def stop(self, reason=None):
        with self.lock:
            if not self.recording or os.getpid() != self.pid:
                return
            torch = self.torch
            count = torch.cuda.device_count()
            for _ in range(10):
                figures = [self.figures(d) for d in range(count)]
                snapshot = torch.cuda.memory._snapshot()
                still = figures == [self.figures(d) for d in range(count)]
                if still:
                    break
            self.recording = False
            self.finished.set()
            torch.cuda.memory._record_memory_history(enabled=None)
            try:
                self.write(snapshot, figures if still else None, reason)
            finally:
                self.unwrap_all()

    def write(self, snapshot, figures, reason):
        torch = self.torch
        traces = snapshot["device_traces"]
        used = [d for d, trace in enumerate(traces) if trace or any(n.device == d for n in self.notes)] or [0]
        if any(len(traces[d]) >= self.max_entries for d in used if d < len(traces)):
            say("the history was full and has lost its beginning: nothing is written. Use start(max_entries=...) or stop() earlier")
            return
        devices = {d: i for i, d in enumerate(used)}  # those of the trace, without gaps
        notes = [n for n in self.notes if n.device in devices and self.is_whole(n.op)]
        for n in notes:
            n.device = devices[n.device]
        reserved = {d: sum(s["total_size"] for s in snapshot["segments"] if s["device"] == d) for d in used}
        ops = weave([[Entry(raw) for raw in traces[d]] for d in used], notes, self.gives_back(figures))
        free = [torch.cuda.mem_get_info(d)[0] + reserved[d] for d in used]
        kinds = {op["op"] for op in ops}
        header = {
            "source": "gb_record, torch " + torch.__version__, "device": torch.cuda.get_device_name(used[0]),
            "total_memory": self.total(used[0]), "devices": len(used), "settings": self.settings,
        }  # fmt: skip
        if "restore" in kinds or "capture_begin" in kinds:
            header["family"] = "checkpoint" if "restore" in kinds else "capture"
        end = {}
        if figures is not None:
            end["layout"] = layout(snapshot["segments"], devices)
            end["stats"] = {name: value for name, value in figures[used[0]].items() if self.fresh or name.endswith(".current")}
        count = write_trace(self.path, header, tell_capacity(ops, free, header["total_memory"]), end)
        if reason:
            say(reason)
        for missed in self.missed[:3]:
            say("a call could not be noted, so the trace may not replay: " + missed)
        say("%d operations in %s" % (count, self.path))


    def is_whole(self, op):
        """Whether all is known of it. A graph tells its pool when its capture has ended."""
        if op["op"] == "pool_begin" and "pool" not in op:
            self.missed.append("the begin of a capture that did not end")
            return False
        return True

    def gives_back(self, figures):
        """Whether requests may have given memory back to the driver."""
        settings = [self.settings] + [n.op["settings"] for n in self.notes if n.op["op"] == "configure"]
        if any("garbage_collection" in text or "max_split" in text for text in settings):
            return True
        return not self.fresh or figures is None or any(f.get("num_alloc_retries") for f in figures)


def say(text):
    print("gb_record: " + text, file=sys.stderr)


recorder = None


def start(path=None, max_entries=2000000):
    """Begins to record. Call it before the first CUDA tensor is made.

    max_entries: how much history the allocator keeps, some 200 bytes of host memory for
    each entry that there is. An allocation and its free are three. When it is nearly full,
    the recording ends by itself.
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
    """Ends the recording and writes the trace. The end of the program does it too."""
    if recorder is not None:
        recorder.stop()


atexit.register(stop)
if os.environ.get("GB_RECORD"):
    start()
