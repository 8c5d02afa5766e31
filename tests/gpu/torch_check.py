"""Trains a small model with PyTorch's own allocator and with libgaugeblock.so, and compares.

    python3 torch_check.py all --lib FOLDER --out FOLDER [--record FOLDER_OF_GB_RECORD]

Every case runs twice, each time in a process of its own with the same seed. The losses
of all steps must be equal to the last bit, and so must the figures of memory where the
program leaves nothing to chance. With --record the native run of a case is recorded as a
trace as well, for "gaugeblock replay". The exit status says whether all was equal.

FOLDER has libgaugeblock.so and libgaugeblock_torch.so ("make pluggable").
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time

STEPS = 20
# settings, whether peaks must be equal: not where the device's speed decides when memory
# becomes free.
CASES = {
    "plain": ("", True),
    "expandable": ("expandable_segments:True", True),
    "streams": ("", False),
    "streams, expandable": ("expandable_segments:True", False),
    "pool": ("", True),
    "limit": ("", True),
    "limit, expandable": ("expandable_segments:True", True),
    "graph": ("", True),
    "graph, expandable": ("expandable_segments:True", True),
}


class Gaugeblock:
    """libgaugeblock.so as PyTorch's allocator."""

    def __init__(self, folder):
        import torch

        base = ctypes.CDLL(os.path.join(folder, "libgaugeblock.so"), mode=ctypes.RTLD_GLOBAL)
        shim = os.path.join(folder, "libgaugeblock_torch.so")
        plugged = torch.cuda.memory.CUDAPluggableAllocator(shim, "gaugeblock_torch_malloc", "gaugeblock_torch_free")
        extra = ctypes.CDLL(shim)
        hooks = plugged.allocator()

        def address(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value

        hooks.set_init_fn(address(base, "gaugeblock_init"))
        hooks.set_reset_fn(address(base, "gaugeblock_reset"))
        hooks.set_memory_fraction_fn(address(base, "gaugeblock_memory_fraction"))
        hooks.set_base_alloc_fn(address(base, "gaugeblock_base_alloc"))
        hooks.set_record_stream_fn(address(base, "gaugeblock_record_stream"))
        hooks.set_begin_allocate_to_pool(address(extra, "gaugeblock_torch_begin_allocate_to_pool"))
        hooks.set_end_allocate_to_pool_fn(address(base, "gaugeblock_end_allocate_to_pool"))
        hooks.set_release_pool(address(base, "gaugeblock_release_pool"))
        torch.cuda.memory.change_current_allocator(plugged)
        self.base, self.plugged = base, plugged
        for name in ("gaugeblock_stats", "gaugeblock_snapshot", "gaugeblock_last_error"):
            getattr(base, name).restype = ctypes.c_void_p

    def _text(self, function, *args):
        text = getattr(self.base, function)(*args)
        value = ctypes.string_at(text).decode()
        self.base.gaugeblock_free_text(ctypes.c_void_p(text))
        return value

    def stats(self):
        return json.loads(self._text("gaugeblock_stats", 0))

    def snapshot(self):
        return json.loads(self._text("gaugeblock_snapshot"))

    def last_error(self):
        return self._text("gaugeblock_last_error")


class Native:
    """PyTorch's own allocator."""

    def stats(self):
        import torch

        return dict(torch.cuda.memory_stats())

    def snapshot(self):
        import torch

        return {"segments": torch.cuda.memory._snapshot()["segments"]}

    def last_error(self):
        return ""


def model_and_data(torch):
    torch.manual_seed(7)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.LayerNorm(1024)]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(1024, 64)).cuda()
    x = torch.randn(512, 1024, device="cuda")
    y = torch.randint(0, 64, (512,), device="cuda")
    return net, x, y


def run_out(torch):
    """Obtains memory up to a limit and beyond, and makes room again."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(((400 << 20) + 0.5) / total)
    mib = lambda n: torch.empty(n << 20, dtype=torch.uint8, device="cuda")
    out = []
    try:
        while True:
            out.append(mib(30))
    except RuntimeError as e:  # torch.OutOfMemoryError is one
        assert "out of memory" in str(e), e
    assert len(out) > 10, len(out)
    del out[::2]
    out.append(mib(100))  # only after the cache has been given back
    del out
    torch.cuda.empty_cache()


def train(case, torch):
    """Trains, and returns the losses and the seconds of each step."""
    if case.startswith("limit"):
        run_out(torch)
    net, x, y = model_and_data(torch)
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-3)
    side = torch.cuda.Stream()
    losses, times = [], []
    pool = torch.cuda.graph_pool_handle()

    def loss_of(step):
        # The size of a batch changes, so that memory is not asked for in the same sizes always.
        n = 256 + 32 * (step % 8)
        out = net(x[:n])
        if case.startswith("streams"):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                penalty = (out * out).mean()
                out.record_stream(side)
            torch.cuda.current_stream().wait_stream(side)
            penalty.record_stream(torch.cuda.current_stream())
            return torch.nn.functional.cross_entropy(out, y[:n]) + 1e-4 * penalty
        return torch.nn.functional.cross_entropy(out, y[:n])

    for step in range(STEPS):
        torch.cuda.synchronize()
        began = time.perf_counter()
        if case == "pool":
            torch._C._cuda_beginAllocateCurrentThreadToPool(0, pool)
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of(step)
        loss.backward()
        if case == "pool":
            torch._C._cuda_endAllocateToPool(0, pool)
        optimiser.step()
        losses.append(loss.item())
        del loss
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return losses, times


def train_in_graph(torch):
    """The same with the step captured once and launched."""
    net, x, y = model_and_data(torch)
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-3, capturable=True)

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimiser.step()
        return loss

    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(warm)
    optimiser.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    losses, times = [], []
    for _ in range(STEPS):
        torch.cuda.synchronize()
        began = time.perf_counter()
        graph.replay()
        # What others have meanwhile must not be the graph's.
        junk = [torch.full((n,), float("nan"), device="cuda") for n in (1000, 300_000, 3_000_000)]
        losses.append(loss.item())
        del junk
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return losses, times


def run(args):
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    recorder = None
    if args.record and args.allocator == "native":
        sys.path.insert(0, args.record)
        import gb_record as recorder
    torch.use_deterministic_algorithms(True)
    allocator = Native() if args.allocator == "native" else Gaugeblock(args.lib)
    if recorder:
        torch.cuda.init()
        recorder.start(args.trace)
    losses, times = train_in_graph(torch) if args.case.startswith("graph") else train(args.case, torch)
    # A recorder switches the history on, which has no effect on figures.
    result = {
        "losses": [loss.hex() for loss in losses],
        "last": losses[-1],
        "ms": 1e3 * statistics.median(times[5:]),
        "stats": allocator.stats(),
        "segments": len(allocator.snapshot()["segments"]),
        "error": allocator.last_error(),
        "device": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
    }
    if recorder:
        recorder.stop()
    with open(args.result, "w") as f:
        json.dump(result, f)


def start(args, case, allocator, record=False):
    """Runs a case in a process of its own."""
    name = f"{case.replace(', ', '-')}-{allocator}"
    result = os.path.join(args.out, f"check-{name}.json")
    command = [sys.executable, __file__, "run", "--case", case, "--allocator", allocator, "--lib", args.lib, "--result", result]
    environment = dict(os.environ, PYTORCH_ALLOC_CONF=CASES[case][0])
    if record:
        command += ["--record", args.record, "--trace", os.path.join(args.out, f"{name}.jsonl.gz")]
    if args.log and allocator != "native":
        environment["GAUGEBLOCK_TRACE"] = os.path.join(args.out, f"{name}.jsonl")
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        return {"failed": (done.stderr or done.stdout)[-1500:]}
    with open(result) as f:
        answer = json.load(f)
    os.remove(result)
    return answer


def compare(case, native, ours):
    """What differs, in words."""
    wrong = [f"{who} failed: {r['failed']}" for who, r in (("native", native), ("gaugeblock", ours)) if "failed" in r]
    if wrong:
        return wrong
    if native["losses"] != ours["losses"]:
        first = next(i for i, (a, b) in enumerate(zip(native["losses"], ours["losses"])) if a != b)
        wrong.append(f"the loss of step {first} is {native['losses'][first]} and {ours['losses'][first]}")
    if bool(ours["error"]) != case.startswith("limit"):
        wrong.append(f"gaugeblock's last error: {ours['error']!r}")
    differ = sorted(k for k in native["stats"].keys() & ours["stats"].keys() if native["stats"][k] != ours["stats"][k])
    if CASES[case][1]:
        wrong += [f"{k} is {native['stats'][k]} and {ours['stats'][k]}" for k in differ]
    return wrong


def all_cases(args):
    os.makedirs(args.out, exist_ok=True)
    table, failed = [], False
    row = "{:22} {:>8} {:>14} {:>14} {:>12} {:>12} {:>9} {:>9}  {}"
    print(row.format("case", "losses", "peak native", "peak ours", "alloc. nat.", "alloc. ours", "ms nat.", "ms ours", "figures"))
    for case in args.cases.split(";") if args.cases else CASES:
        native = start(args, case, "native")
        ours = start(args, case, "gaugeblock")
        wrong = compare(case, native, ours)
        failed = failed or bool(wrong)
        if "failed" in native or "failed" in ours:
            print(case, "FAILED", flush=True)
        else:
            both = native["stats"].keys() & ours["stats"].keys()
            equal = sum(native["stats"][k] == ours["stats"][k] for k in both)
            print(row.format(
                case, "equal" if native["losses"] == ours["losses"] else "DIFFER",
                native["stats"]["reserved_bytes.all.peak"], ours["stats"]["reserved_bytes.all.peak"],
                native["stats"]["allocation.all.allocated"], ours["stats"]["allocation.all.allocated"],
                f"{native['ms']:.3f}", f"{ours['ms']:.3f}", f"{equal} of {len(both)} equal"), flush=True)
        for line in wrong:
            print("   ", line, flush=True)
        table.append({"case": case, "wrong": wrong, "native": native, "ours": ours})
        if args.record:
            recorded = start(args, case, "native", record=True)
            if "failed" in recorded:
                failed = True
                print("    recording failed:", recorded["failed"], flush=True)
    with open(os.path.join(args.out, "torch_check.json"), "w") as f:
        json.dump(table, f, indent=1)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["all", "run"])
    parser.add_argument("--lib", default=".")
    parser.add_argument("--out", default=".")
    parser.add_argument("--cases", default="", help="separated by semicolons; all if left out")
    parser.add_argument("--record", default="", help="folder of gb_record.py: record native runs")
    parser.add_argument("--log", action="store_true", help="let libgaugeblock write its traces")
    parser.add_argument("--case")
    parser.add_argument("--allocator", choices=["native", "gaugeblock"])
    parser.add_argument("--result")
    parser.add_argument("--trace")
    args = parser.parse_args()
    if args.what == "run":
        run(args)
    else:
        sys.exit(all_cases(args))


main()
