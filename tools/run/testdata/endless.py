"""Trains for two steps, asks for an interruption as by Ctrl-C, and waits for it."""
import os
import signal
import time

import torch

model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.ones(8, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
time.sleep(2)  # so that somebody who watches has seen it
os.kill(os.getppid(), signal.SIGINT)
time.sleep(60)
