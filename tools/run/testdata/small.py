"""The host computes the numbers of a small model until it has done much for them. Ends with 1 if others are known."""
import sys

import torch

wrong = []


def loss(d):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).to(d)
    optimizer, x = torch.optim.Adam(model.parameters(), 0.1), torch.linspace(-1, 1, 64, device=d).view(8, 8)
    steps = 0
    while steps < 200:
        value = (model(x)[:, 0] - x.sum(1)).square().mean()
        if value.item() < 0.1:
            break
        optimizer.zero_grad(), value.backward(), optimizer.step()
        steps += 1
    return steps, round(value.item(), 3)


if loss("cuda") != loss("cpu") or loss("cpu")[0] in (0, 200):
    wrong.append(f"{loss('cuda')}, not {loss('cpu')}")
large = product = torch.eye(512, device="cuda")
times = 0
while product[0, 0].item() == 1 and times < 300:  # unknown: item in a condition
    product, times = product @ large, times + 1
w = torch.ones(4, device="cuda")
w.add_(product[0, :4])
if w.sum().item() != 0:  # unknown: item in a condition
    wrong.append("what was not computed is known")
hidden = torch.zeros(2, 1, 8, 8, device="cuda").masked_fill(torch.arange(8, device="cuda")[:, None] < torch.arange(8, device="cuda"), float("-inf"))
if (hidden == 0).sum().item() != 72 or large.sum().item() != 512:
    wrong.append("masks are not known")
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
