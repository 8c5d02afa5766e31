"""Runs random programs on PyTorch, records them late, in a ring or from their start, and writes
what really happens under other settings and limits, for TestRealPrograms:

    gaugeblock run --values none --memory 24GiB -- python truths.py OUT.jsonl.gz FIRST_SEED LAST_SEED
    go test ./snapshot/tell -run TestRealPrograms -v -args -truths OUT.jsonl.gz

Another argument leaves full devices out, so that processes can share a GPU. No kernel runs, so a
fake GPU does. One process runs all programs: between two of them nothing is
reserved.
"""
import ctypes
import gc
import gzip
import inspect
import json
import random
import sys

import torch

MIB = 1 << 20
SETTINGS = ["", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4",
            "garbage_collection_threshold:0.6", "max_split_size_mb:64,garbage_collection_threshold:0.8"]
RESET = "expandable_segments:False,"  # it would stay what it is; the others do not
memory = torch.cuda.memory
TOTAL = torch.cuda.get_device_properties(0).total_memory
STREAM = torch.cuda.Stream()


def cudart():
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "libcudart" in line))


class Plan:
    """The steps of a program: ("new", name, bytes, stream or "pool"), ("try", name, sizes, of which the
    first that is served is kept), ("conv", name, bytes, sizes of the workspace as above, bytes of a
    temporary), ("del", name), ("use", name), ("empty",)."""

    def __init__(self, r):
        self.steps = []
        self.kind = r.choice(["training", "training", "serving", "churn", "pyramid", "small", "streams", "pools", "workspaces", "convolutions"])
        self.on_oom = r.choice(["stops", "stops", "skips"])
        getattr(self, self.kind)(r)

    def new(self, name, size, stream=0):
        self.steps.append(("new", name, max(512, int(size)), stream))

    def free(self, name):
        self.steps.append(("del", name))

    def training(self, r, uses=False):
        layers, width, varied = r.randint(2, 7), r.randint(1, 24) * MIB, r.random() < 0.5
        workspace, steps = r.randrange(3) * 7 * MIB, r.randint(4, 9)
        for i in range(layers):
            self.new(f"w{i}", width + i % 3 * MIB // 2)
        for s in range(steps):
            length = r.randint(4, 12) if varied else 8
            for i in range(layers):
                self.new(f"a{i}", width * length // 8, int(uses and i % 2))
                if uses and i % 2:
                    self.steps.append(("use", f"a{i}"))
                if workspace:
                    self.new("workspace", workspace)
                    self.free("workspace")
            for i in reversed(range(layers)):
                self.new(f"g{i}", width + i % 3 * MIB // 2)
                self.free(f"a{i}")
            for i in range(layers):
                if s == 0:
                    self.new(f"o{i}", 2 * width)
                self.free(f"g{i}")
            if r.random() < 0.05:
                self.steps.append(("empty",))

    def pools(self, r):
        """A part of the memory is in a private pool, as with CUDA graphs."""
        layers, width = r.randint(2, 6), r.randint(1, 24) * MIB
        for i in range(layers):
            self.new(f"w{i}", width)
        for s in range(r.randint(4, 10)):
            length = r.randint(4, 12)
            for i in range(layers):
                self.new(f"a{i}", width * length // 8, r.choice([0, "pool"]))
                self.new(f"k{s}.{i}", width // 8, "pool" if i % 2 else 0)
            for i in r.sample(range(layers), layers):
                self.free(f"a{i}")
            if s > 2:
                self.free(f"k{s - 2}.{r.randrange(layers)}")

    def workspaces(self, r):
        """Each layer tries workspaces, the largest first, as libraries of convolutions do."""
        layers, width = r.randint(2, 6), r.randint(1, 24) * MIB
        for i in range(layers):
            self.new(f"w{i}", width)
        for s in range(r.randint(4, 9)):
            for i in range(layers):
                self.new(f"a{i}", width * r.randint(4, 12) // 8)
                self.steps.append(("try", "workspace", [width * r.randint(2, 8), width, MIB]))
                self.free("workspace")
            for i in reversed(range(layers)):
                self.new(f"g{i}", width)
                self.free(f"a{i}")
            for i in range(layers):
                self.free(f"g{i}")

    def convolutions(self, r):
        """The same, with requests of a convolution before its workspace is freed. Weights and inputs
        grow and shrink, so that a workspace may be the largest request."""
        levels, width = r.randint(2, 5), r.randint(4, 32) * MIB
        for i in range(levels):
            self.new(f"w{i}", r.randint(1, 8) * MIB)
        for s in range(r.randint(4, 9)):
            size = width * r.choice([2, 3, 4, 4, 5]) // 4
            for i in range(levels):
                self.steps.append(("conv", f"a{i}", size >> i, [size * r.randint(1, 3), size // 4, MIB], size // 8))
            for i in reversed(range(levels)):
                self.new(f"g{i}", size >> i)
                self.free(f"a{i}")
            for i in range(levels):
                self.free(f"g{i}")

    def streams(self, r):
        self.training(r, uses=True)

    def serving(self, r):
        layers, width = r.randint(2, 6), r.randint(1, 16) * MIB
        for i in range(layers):
            self.new(f"w{i}", width)
        for s in range(r.randint(8, 30)):
            length = r.randint(1, 16)
            for i in range(layers):
                self.new(f"t{i}", width * length // 4)
                self.new(f"k{s}.{i}", width * length // 16)
                self.free(f"t{i}")
            if s >= 6 and r.random() < 0.8:
                for i in range(layers):
                    self.free(f"k{s - 6}.{i}")

    def churn(self, r):
        live = []
        for s in range(r.randint(60, 300)):
            if live and r.random() < 0.48:
                self.free(live.pop(r.randrange(len(live))))
            else:
                live.append(f"x{s}")
                self.new(live[-1], 2 ** r.uniform(9, 26))

    def pyramid(self, r):
        levels, width = r.randint(3, 6), r.randint(8, 64) * MIB
        for i in range(levels):
            self.new(f"w{i}", r.randint(1, 8) * MIB)
        for _ in range(r.randint(4, 10)):
            scale = r.choice([0.7, 1.0, 1.0, 1.3])
            for i in range(levels):
                self.new(f"d{i}", width * scale / 2 ** i)
            for i in reversed(range(levels)):
                self.new(f"u{i}", width * scale / 2 ** i)
                if i < levels - 1:
                    self.free(f"u{i + 1}")
                self.free(f"d{i}")
            self.free("u0")

    def small(self, r):
        for s in range(r.randint(100, 300)):
            self.new(f"p{s}", 2 ** r.uniform(9, 20.5))
            if s % 3 == 0:
                self.new("big", r.randint(1, 40) * MIB)
                self.free("big")
            if s > 20 and r.random() < 0.7:
                self.free(f"p{r.randrange(s)}")


def statistics(before):
    s = memory.memory_stats()
    return {"PeakReserved": s["reserved_bytes.all.peak"], "PeakAllocated": s["allocated_bytes.all.peak"],
            "Retries": s["num_alloc_retries"] - before["num_alloc_retries"], "OOMs": s["num_ooms"] - before["num_ooms"],
            "DeviceAllocs": s["num_device_alloc"] - before["num_device_alloc"], "DeviceFrees": s["num_device_free"] - before["num_device_free"]}


class Run:
    """A run of a plan under settings and limits, which counts from a step on, and records if asked."""

    def __init__(self, plan, settings, fraction, device, start, recorded=False):
        self.recorded, self.pool = recorded, None
        self.live, self.result = {}, {"recording": False, "failed_before": False, "went_on": False, "at_oom": None,
                                  "without": False}  # the first request that failed was one that is not needed
        self.before = memory.memory_stats()
        self.limit(settings, fraction, device)
        try:
            for i, step in enumerate(plan.steps):
                if i == start:
                    self.record()
                if recorded and hasattr(memory, "_set_memory_metadata"):
                    memory._set_memory_metadata(str(i))
                if not self.step(step) and plan.on_oom == "stops":
                    break
            self.result["at_end"] = statistics(self.before)
            self.snapshot = memory._snapshot() if recorded else None
        finally:
            self.reset()

    def limit(self, settings, fraction, device):
        memory._set_allocator_settings(RESET + settings)
        torch.cuda.set_per_process_memory_fraction((fraction + 0.25) / TOTAL if fraction else 1.0)
        self.taken = ctypes.c_void_p()
        if device:
            free = torch.cuda.mem_get_info()[0]
            assert cudart().cudaMalloc(ctypes.byref(self.taken), ctypes.c_size_t(free - device)) == 0
            self.result["device"] = torch.cuda.mem_get_info()[0]

    def record(self):
        self.result.update(recording=True, failed_before=self.result["at_oom"] is not None, at_oom=None, went_on=False, without=False)
        memory.reset_peak_memory_stats()
        self.before = memory.memory_stats()
        self.result["layout"] = [self.before[k] for k in ("reserved_bytes.all.current", "segment.all.current", "inactive_split_bytes.all.current")]
        if not self.recorded:
            return
        more = {"clear_history": True} if "clear_history" in inspect.signature(memory._record_memory_history).parameters else {}
        memory._record_memory_history(enabled="all", context="all", stacks="python", max_entries=1 << 20, **more)

    def step(self, step):
        kind, name = step[0], step[1] if len(step) > 1 else ""
        if kind == "empty":
            torch.cuda.empty_cache()
        elif kind == "del":
            self.live.pop(name, None)
        elif kind == "use" and name in self.live:
            self.live[name].record_stream(torch.cuda.default_stream())
        elif kind == "new":
            return self.new(name, step[2], step[3])
        elif kind == "try":
            return self.first_of(name, step[2])
        elif kind == "conv":
            return self.conv2d(name, *step[2:])
        return True

    def first_of(self, name, sizes):
        failed_before = self.result["at_oom"] is not None
        for i, size in enumerate(sizes):
            if self.new(name, size, 0):
                self.result["without"] |= i > 0 and not failed_before
                return True
        return False

    def conv2d(self, name, size, workspaces, temporary):
        """Its name, which the call stacks have, is what tells that its workspace is one."""
        done = self.new(name, size, 0) and self.first_of("workspace", workspaces) and self.new("temporary", temporary, 0)
        for name in "workspace", "temporary":
            self.live.pop(name, None)
        return done

    def new(self, name, size, where):
        self.result["went_on"] |= self.result["at_oom"] is not None
        if where == "pool":
            self.pool = self.pool or torch.cuda.MemPool()
            place = torch.cuda.use_mem_pool(self.pool)
        else:
            place = torch.cuda.stream(STREAM if where else torch.cuda.default_stream())
        try:
            with place:
                self.live[name] = torch.empty(size, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            if self.result["at_oom"] is None:
                self.result["at_oom"] = statistics(self.before)
            return False
        return True

    def reset(self):
        if self.recorded:
            memory._record_memory_history(enabled=None)
        self.live.clear()
        self.pool = None
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()
        if self.taken:
            cudart().cudaFree(self.taken)
        memory.reset_peak_memory_stats()
        assert memory.memory_reserved() == 0, memory.memory_reserved()


def cut(snapshot, ring):
    """The snapshot as a ring has it, with few frames; and from which step on, and whether in part."""
    trace, start, partly = snapshot["device_traces"][0], None, False
    if ring and ring < len(trace):
        kept = trace[-ring:]
        start, partly = int(kept[0]["user_metadata"]), kept[0]["user_metadata"] == trace[-ring - 1]["user_metadata"]
        trace = kept
    for e in trace:
        e["frames"] = [{"filename": f["filename"].split("/")[-1], "line": f["line"], "name": f["name"]} for f in e["frames"][:3]]
        e["user_metadata"] = ""
    segments = [s for s in snapshot["segments"] if s["device"] == 0]
    for s in segments:
        for b in s["blocks"]:
            b["frames"] = []
        s["frames"] = []
    return {"segments": segments, "device_traces": [trace], "allocator_settings": snapshot.get("allocator_settings"),
            "external_annotations": []}, start, partly


def case(seed):
    r = random.Random(seed)
    plan, settings = Plan(r), r.choice(SETTINGS)
    whole = Run(plan, settings, 0, 0, 0).result["at_end"]
    room = (whole["PeakAllocated"] + (whole["PeakReserved"] - whole["PeakAllocated"]) * r.randrange(120) // 100) // (2 * MIB) * 2 * MIB
    fraction, device, start, ring = 0, 0, 0, 0
    how = r.randrange(4)
    if how == 0:
        fraction = room
    elif how == 1 and len(sys.argv) < 5:
        device = room
    how = r.randrange(3)
    if how == 0:
        start = len(plan.steps) * r.randint(1, 8) // 10
    elif how == 1 and hasattr(memory, "_set_memory_metadata"):
        ring = r.randint(20, 20 + 2 * len(plan.steps))
    run = Run(plan, settings, fraction, device, start, recorded=True)
    if not run.result["recording"] or run.result["failed_before"] or ring and run.result["at_oom"] and plan.on_oom != "stops":
        return None
    snapshot, ring_start, partly = cut(run.snapshot, ring)
    start = start if ring_start is None else ring_start
    after = min(start + partly, len(plan.steps) - 1)
    hidden = bool(fraction or device) and Run(plan, settings, 0, 0, after).result["layout"] != Run(plan, settings, fraction, device, after).result.get("layout")
    truths = []
    for given in [{}, {"fraction": whole["PeakAllocated"] * r.randint(90, 129) // 100 // (2 * MIB) * 2 * MIB}] + [{"device": whole["PeakAllocated"] * r.randint(95, 125) // 100 // (2 * MIB) * 2 * MIB}] * (r.random() < 0.3 and len(sys.argv) < 5):
        for s in SETTINGS:
            truth = Run(plan, s, given.get("fraction", 0), given.get("device", 0), start).result
            truths.append({"settings": s, "fraction": given.get("fraction", 0), "device": truth.get("device", 0), "truth": truth})
    return {"release": torch.__version__, "seed": seed, "kind": plan.kind, "settings": settings, "fraction": fraction, "device": device,
            "from": start, "ring": ring, "partly": partly, "hidden": hidden, "recorded": run.result, "snapshot": snapshot, "truths": truths}


with gzip.open(sys.argv[1], "wt") as out:
    for seed in range(int(sys.argv[2]), int(sys.argv[3]) + 1):
        made = case(seed)
        if made:
            out.write(json.dumps(made) + "\n")
            out.flush()  # a time limit leaves what is made
