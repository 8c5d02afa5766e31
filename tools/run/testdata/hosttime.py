"""How long an operation takes from Python, in microseconds: the best of several rounds. The work on the GPU is small;
numbers of 256 KiB are not known to gaugeblock run, integers are."""
import sys
import time

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
x, y = torch.randn(256, 256, device="cuda"), torch.randn(256, 256, device="cuda")
i, j = torch.arange(256, device="cuda"), torch.arange(256, device="cuda").flip(0)
mask = i > 3
w = torch.randn(256, 256, device="cuda", requires_grad=True)
operations = {
    "add_": lambda: x.add_(1.0),
    "mul": lambda: x * y,
    "matmul": lambda: x @ y,
    "sum": lambda: x.sum(),
    "softmax": lambda: torch.softmax(x, -1),
    "copy": lambda: x.copy_(y),
    "long add": lambda: i + j,
    "compare": lambda: i < j,
    "bool and": lambda: mask & mask,
    "index": lambda: x[i],
    "forward and backward": lambda: (w @ x).relu().sum().backward(),
}
ROUNDS, TIMES = 7, int(sys.argv[1]) if len(sys.argv) > 1 else 2000
for name, operation in operations.items():
    best = float("inf")
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(TIMES // 4):
            operation(), operation(), operation(), operation()
        best = min(best, time.perf_counter() - start)
    print(f"{name}: {best / TIMES * 1e6:.2f}", flush=True)
