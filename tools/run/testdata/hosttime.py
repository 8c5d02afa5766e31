"""How long an operation takes from Python, in microseconds: the best of many short rounds, since other programs use the
processor too. What PyTorch's own host time is: the same with "--values none" and launches that return at once,

    cc -O2 -shared -fPIC -o /tmp/launches.so tools/run/testdata/launches.c
    gaugeblock run --values none -- env LD_PRELOAD=/tmp/launches.so python hosttime.py

Random numbers of 256 KiB are not known to gaugeblock run; integers are, and the zeros."""
import time

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
x, y = torch.randn(256, 256, device="cuda"), torch.randn(256, 256, device="cuda")
i, j = torch.arange(256, device="cuda"), torch.arange(256, device="cuda").flip(0)
mask, zeros = i > 3, torch.zeros(64, device="cuda")
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
    "zeros add": lambda: zeros + zeros,
    "forward and backward": lambda: (w @ x).relu().sum().backward(),
}
ROUNDS, TIMES = 200, 100
for name, operation in operations.items():
    best = float("inf")
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(TIMES // 4):
            operation(), operation(), operation(), operation()
        best = min(best, time.perf_counter() - start)
    print(f"{name}: {best / TIMES * 1e6:.2f}", flush=True)
