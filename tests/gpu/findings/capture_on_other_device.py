"""Crash: an allocation on one device during a capture on another invalidates the capture, and the next
allocation crashes the process.

The allocator asks the events of the second device, because nothing is captured there. CUDA does not allow
that during a capture in the default mode. By then the event has been taken out of its queue, and the next
look at the queue follows a null pointer. Needs two GPUs.
"""
import os
import subprocess
import sys

import torch

if torch.cuda.device_count() < 2:
    print("needs two GPUs")
    sys.exit(2)


def program(two_streams):
    tiny = torch.zeros(1, device="cuda:0")
    tiny.add_(1)
    side = torch.cuda.Stream(1)
    x = torch.ones(1 << 20, device="cuda:1")
    small = torch.empty(1, device="cuda:1")
    del small
    torch.cuda.synchronize(0), torch.cuda.synchronize(1)
    if two_streams:
        x.record_stream(side)
    del x
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream(0)):
        graph.capture_begin()
        tiny.add_(1)
        try:
            torch.empty(1, device="cuda:1")
            print("allocated on the other device", flush=True)
        except RuntimeError as e:
            print("allocation on the other device:", str(e).splitlines()[0], flush=True)
        try:
            graph.capture_end()
            print("captured", flush=True)
        except RuntimeError as e:
            print("capture:", str(e).splitlines()[0], flush=True)
    torch.empty(1, device="cuda:1")
    print("allocated on the other device after the capture", flush=True)
    os._exit(0)


if len(sys.argv) > 1:
    program(sys.argv[1] == "True")
fault = {}
for two_streams in ("False", "True"):
    child = subprocess.run([sys.executable, __file__, two_streams], capture_output=True, text=True)
    print(f"a tensor of the other device was used on two streams {two_streams}:\n{child.stdout}{child.stderr[:300]}"
          f"exit status of the program: {child.returncode}")
    fault[two_streams] = child.returncode != 0 or "CUDA error" in child.stdout
assert not fault["False"]
sys.exit(1 if fault["True"] else 0)
