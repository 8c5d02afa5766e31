"""Out of memory without need, for ever: if no page can be had for the first request under expandable
segments, none can be had later.

The first page is tried with fabric handles. If that fails because the device is full, the allocator keeps to
fabric handles. On a machine without them no page can be had any more, and each failure counts as out of
memory. The control has one page made first.
"""
import gc
import os
import subprocess
import sys

import torch

MiB = 1 << 20


def empty(mib):
    return torch.empty(mib * MiB, dtype=torch.uint8, device="cuda")


def expandable(on):
    torch._C._accelerator_setAllocatorSettings(f"expandable_segments:{on}")


def fill_device():
    expandable(False)
    ballast = [empty(torch.cuda.mem_get_info()[0] // MiB - 600)]
    for mib in (20, 2):
        try:
            while True:
                ballast.append(empty(mib))
        except torch.cuda.OutOfMemoryError:
            pass
    expandable(True)
    return ballast


def program(page_first):
    if page_first:
        expandable(True)
        empty(20)
        torch.cuda.empty_cache()
    ballast, failed = fill_device(), False
    for when in ("device full", "device empty", "device empty"):
        try:
            empty(40)
            print(f"{when}: 40 MiB", flush=True)
        except torch.cuda.OutOfMemoryError:
            print(f"{when}: 40 MiB: out of memory, with {torch.cuda.mem_get_info()[0] // MiB} MiB free", flush=True)
            failed = when != "device full"
        ballast.clear()
        gc.collect()
        torch.cuda.empty_cache()
    os._exit(failed)


if len(sys.argv) > 1:
    program(sys.argv[1] == "True")
status = []
for page_first in ("True", "False"):
    child = subprocess.run([sys.executable, __file__, page_first], capture_output=True, text=True)
    print(f"a page made first {page_first}:\n{child.stdout}{child.stderr[:300]}", end="")
    status.append(child.returncode)
assert status[0] == 0
sys.exit(status[1])
