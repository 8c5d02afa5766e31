# A backward pass that runs out of memory, in a thread that runs no Python.
import sys

import torch


def forward(x):
    return torch.nn.functional.relu(x * 2) * 3


x = torch.empty(int(sys.argv[1]) << 18, device="cuda", requires_grad=True)
y = forward(x).sum()
free, _ = torch.cuda.mem_get_info()
hold = torch.empty(max(free - (30 << 20), 0), dtype=torch.uint8, device="cuda")
y.backward()
