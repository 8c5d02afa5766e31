"""Memory in two pools, then a crash: with expandable segments the pool of a deleted graph is given up while a
tensor of it is alive.

A pool counts one for each request that maps pages, and takes off one for each range that is unmapped. Here
pages are mapped by one request, and a part of them is unmapped when the graph is gone: the count is 0, the
pool is deleted, and the tensor's block refers to a pool that does not exist. A pool that is made later lies
at its place in the heap and gets the tensor's memory. The control unmaps nothing.
"""
import gc
import os
import subprocess
import sys

import torch

MiB = 1 << 20


def empty(mib):
    return torch.empty(mib * MiB, dtype=torch.uint8, device="cuda")


def program(output_mib):
    torch._C._accelerator_setAllocatorSettings("expandable_segments:True")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        empty(100).zero_()
        output = empty(output_mib).zero_()
    del graph
    gc.collect()
    torch.cuda.empty_cache()
    pools = [torch.cuda.MemPool() for _ in range(8)]
    address = output.data_ptr()
    print(f"graph deleted, output of {output_mib} MiB alive, {torch.cuda.memory_reserved() // MiB} MiB reserved", flush=True)
    del output
    for i, pool in enumerate(pools):
        with torch.cuda.use_mem_pool(pool), torch.cuda.stream(torch.cuda.graph.default_capture_stream):
            if empty(output_mib).data_ptr() == address:
                print(f"the output's memory is served from new pool {i}", flush=True)
    del pools, pool
    gc.collect()
    torch.cuda.empty_cache()
    print(f"all freed, cache emptied: {torch.cuda.memory_reserved() // MiB} MiB reserved", flush=True)
    os._exit(1 if torch.cuda.memory_reserved() else 0)


if len(sys.argv) > 1:
    program(int(sys.argv[1]))
status = []
for output_mib in ("100", "40"):
    child = subprocess.run([sys.executable, __file__, output_mib], capture_output=True, text=True)
    print(child.stdout + "\n".join(line[:200] for line in child.stderr.splitlines()[:3]))
    print("exit status of the program:", child.returncode)
    status.append(child.returncode)
assert status[0] == 0
sys.exit(1 if status[1] else 0)
