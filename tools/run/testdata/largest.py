"""Trains a model for three steps with batches of BATCH, and prints what the allocator did, or that memory ran out.

    BATCH=8 LIMIT=24 python largest.py KIND

LIMIT is how many GiB PyTorch may take of the GPU (torch.cuda.set_per_process_memory_fraction), 0 for all of it.
KIND is a function below. If memory runs out, the exit status is 1."""
import json
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

BATCH, LIMIT = int(os.environ["BATCH"]), float(os.environ.get("LIMIT", 0))
STEPS = 3


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.all, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        query, key, value = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.all(self.before(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.between(x))))


def train(model, optimizer, loss):
    for _ in range(STEPS):
        loss().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def gpt():
    """124 million parameters, 1,024 tokens, bfloat16 by autocast."""
    model = nn.Sequential(nn.Embedding(50304, 768), *(Block(768, 12) for _ in range(12)), nn.LayerNorm(768), nn.Linear(768, 50304, bias=False)).cuda()

    def loss():
        x = torch.randint(0, 50304, (BATCH, 1024)).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            return F.cross_entropy(model(x).flatten(0, 1), x.flatten())

    train(model, torch.optim.AdamW(model.parameters()), loss)


def checkpointed():
    """A wider one in bfloat16, whose blocks are computed again in the backward pass."""
    first, blocks, last = nn.Embedding(32000, 2048), nn.ModuleList(Block(2048, 16) for _ in range(16)), nn.Linear(2048, 32000, bias=False)
    model = nn.ModuleList([first, blocks, last]).to("cuda", torch.bfloat16)

    def loss():
        x = torch.randint(0, 32000, (BATCH, 2048)).cuda()
        y = first(x)
        for block in blocks:
            y = checkpoint(block, y, use_reentrant=False)
        return F.cross_entropy(last(y).flatten(0, 1).float(), x.flatten())

    train(model, torch.optim.AdamW(model.parameters(), fused=True), loss)


def images():
    """Convolutions, batch normalization and linear layers on images of 128 by 128, in fp32."""
    def stage(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
                nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True), nn.MaxPool2d(2)]

    widths = [3, 64, 128, 256, 512]
    layers = [layer for inputs, outputs in zip(widths, widths[1:]) for layer in stage(inputs, outputs)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(512 * 8 * 8, 1024), nn.ReLU(), nn.Linear(1024, 1000)).cuda()

    def loss():
        return F.cross_entropy(model(torch.randn(BATCH, 3, 128, 128, device="cuda")), torch.randint(0, 1000, (BATCH,)).cuda())

    train(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), loss)


def main():
    kind = sys.argv[1]
    torch.manual_seed(5)
    if LIMIT:
        torch.cuda.set_per_process_memory_fraction(LIMIT * 2**30 / torch.cuda.get_device_properties(0).total_memory)
    out_of_memory = None
    try:
        globals()[kind]()
        torch.cuda.synchronize()
    except torch.OutOfMemoryError as e:
        out_of_memory = str(e).splitlines()[0]
    stats = torch.cuda.memory_stats()
    print(json.dumps({
        "kind": kind, "batch": BATCH, "limit": LIMIT, "torch": torch.__version__, "runs": out_of_memory is None,
        "peak_reserved": stats["reserved_bytes.all.peak"], "peak_allocated": stats["allocated_bytes.all.peak"],
        "retries": stats["num_alloc_retries"], "out_of_memory": out_of_memory,
    }))
    sys.exit(out_of_memory is not None)


main()
