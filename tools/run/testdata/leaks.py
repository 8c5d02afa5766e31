"""Trains a network in ten iterations at a time, keeps each loss with its graph, and writes a snapshot after each ten: a leak."""
import os
import sys

import torch
from torch import nn

torch.manual_seed(0)
torch.cuda.init()  # "gaugeblock run" begins its own record then
torch.cuda.memory._record_memory_history(stacks="python")
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
losses = []


def step():
    x = torch.randn(512, 256, device="cuda")
    loss = (model(x) - x).square().mean()
    loss.backward(retain_graph=True)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss)


for iteration in (10, 20, 30, 40):
    for _ in range(10):
        step()
    folder = os.path.join(sys.argv[1], f"iteration_{iteration}")
    os.makedirs(folder)
    torch.cuda.memory._dump_snapshot(os.path.join(folder, "rank0_memory_snapshot.pickle"))
