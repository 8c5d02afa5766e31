"""Wrong exception: capturing with the pool of a deleted graph fails an internal assertion, or works,
depending on whether the cache was emptied.

The pool waits to be freed. It can be neither used nor asked about until the memory is gone.
"""
import sys

import torch

x = torch.zeros(1 << 20, device="cuda")
x.add_(1)


def capture(tensor_alive):
    old = torch.cuda.CUDAGraph()
    with torch.cuda.graph(old):
        output = x + 1
    pool = old.pool()
    del old
    if not tensor_alive:
        del output
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph(), pool=pool):
            x + 1
        print(f"a tensor of the deleted graph is alive {tensor_alive!s:5}: captured")
        return False
    except RuntimeError as e:
        print(f"a tensor of the deleted graph is alive {tensor_alive!s:5}: {str(e).splitlines()[0][:130]}")
        return True


assert not capture(False)
sys.exit(1 if capture(True) else 0)
