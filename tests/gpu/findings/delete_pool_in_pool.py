"""Crash: deleting a torch.cuda.MemPool while another is used (by any thread), or while a graph is captured,
ends the process.

The destructor empties the pool, which asserts that nothing is captured or routed. An assertion in a
destructor cannot be caught.
"""
import subprocess
import sys

import torch


def helper():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        torch.empty(1 << 20, device="cuda")


if len(sys.argv) > 1:
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        helper()
        print("survived")
    sys.exit(0)
child = subprocess.run([sys.executable, __file__, "child"], capture_output=True, text=True)
print(child.stdout + "\n".join(line[:200] for line in child.stderr.splitlines()[:3]))
print("exit status of the program:", child.returncode)
sys.exit(1 if child.returncode < 0 else 0)
