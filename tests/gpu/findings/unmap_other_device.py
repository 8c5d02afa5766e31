"""Crash: with expandable segments, torch.cuda.empty_cache() unmaps memory of one device under work
that uses it, if another device is current.

Before pages are unmapped the allocator waits for the segment's stream, which it names by handle. The handle of every
device's default stream is 0, so it waits for the default stream of the current device. Needs two GPUs. y must hold
ones, and the program must not fail.
"""
import os
import subprocess
import sys
import time

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
import torch

if torch.cuda.device_count() < 2:
    print("needs two GPUs")
    sys.exit(2)
N = 60 << 20


def program(current):
    y = torch.zeros(N, dtype=torch.uint8, device="cuda:1")
    x = torch.ones(N, dtype=torch.uint8, device="cuda:1")
    torch.zeros(1, device="cuda:0")
    stream = torch.cuda.default_stream(1)
    torch.cuda.synchronize(0), torch.cuda.synchronize(1)
    with torch.cuda.device(1):
        torch.cuda._sleep(2_000_000_000)
        y.copy_(x)
    del x
    before, began = torch.cuda.memory_reserved(1), time.time()
    with torch.cuda.device(current):
        torch.cuda.empty_cache()
    took, busy = time.time() - began, not stream.query()
    print(f"emptied {before - torch.cuda.memory_reserved(1)} bytes in {took:.3f} s, stream still busy {busy}", flush=True)
    torch.cuda.synchronize(1)
    print(f"y holds {y.unique().tolist()}", flush=True)
    os._exit(0 if y.unique().tolist() == [1] else 1)


if len(sys.argv) > 1:
    program(int(sys.argv[1]))
wrong = {}
for current in (1, 0):
    child = subprocess.run([sys.executable, __file__, str(current)], capture_output=True, text=True)
    error = [line for line in child.stderr.splitlines() if "Error" in line][:1]
    print(f"device {current} is current:\n{child.stdout}{''.join(error)}\nexit status of the program: {child.returncode}")
    wrong[current] = child.returncode != 0
assert not wrong[1]
sys.exit(1 if wrong[0] else 0)
