"""Capture fails without need: torch.cuda.empty_cache() in a capture frees the memory of a deleted graph.

empty_cache() leaves the cache alone during a capture, because cudaFree is not allowed there. But memory of
pools that nobody uses any more is freed nevertheless. So whether it may be called depends on whether the last
tensor of some deleted graph has just died.
"""
import sys

import torch

MiB = 1 << 20
x = torch.zeros(30 * MiB, dtype=torch.uint8, device="cuda")
x.add_(1)


def capture(delete_graph, empty_cache):
    old = torch.cuda.CUDAGraph()
    with torch.cuda.graph(old):
        output = x + 1
    if delete_graph:
        del old
    name = f"a graph was deleted {delete_graph!s:5}, empty_cache() {empty_cache!s:5}:"
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            x.add_(1)
            del output
            if empty_cache:
                torch.cuda.empty_cache()
            x.add_(1)
        print(name, "captured")
        return False
    except RuntimeError as e:
        print(name, str(e.__context__ or e).splitlines()[0])
        return True


assert not capture(False, True)
assert not capture(True, False)
sys.exit(1 if capture(True, True) else 0)
