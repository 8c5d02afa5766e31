"""Trains a small network for three steps, and then asks for more memory than there is."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(1000, 64), nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), nn.Linear(64, 1000)).cuda()
optimizer = torch.optim.AdamW(model.parameters())


def step(length):
    x = torch.randint(0, 1000, (4, length), device="cuda")
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


for length in (16, 48, 32):
    step(length)
torch.cuda.synchronize()
torch.empty(4 << 30, dtype=torch.uint8, device="cuda")
