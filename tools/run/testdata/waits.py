"""Loops that wait for values that only a GPU would have computed. Ends with 1 if one is not taken to end, or another is.
Its argument is Options.Patience."""
import itertools
import sys

import torch

patience = int(sys.argv[1]) or 300
x = torch.rand(1 << 20, device="cuda").sum()
wrong = []


class Solver:
    turns = 0

    def converged(self):
        return x.abs() > 5

    def step(self):
        self.turns += 1


def boolean():
    for n in itertools.count():
        if n == 5 * patience:
            return n
        while not x > 5:  # in a loop of its own, with no number that it counts
            n += 1
        return n


def number():
    n = 0
    while x.item() < 0.5:  # reads as 0, then as 1
        n += 1
    return n


def same():
    n, before = 0, None
    while True:
        now = x.item()
        n += 1
        if before is not None and abs(now - before) < 1e-6 * abs(now):
            return n
        before = now


def copied():
    n = 0
    while x.cpu().numpy() < 0.5:
        n += 1
    return n


def integer():
    n = 0
    while (x > torch.rand(10, device="cuda")).sum().item() == 0:
        n += 1
    return n


def count():
    n, found = 0, 0
    while found < 1000:
        n, found = n + 1, found + len(torch.rand(100000, device="cuda").gt(0.5).nonzero())
    return n


def equal():
    n = 0
    while not torch.equal(x, x + 1):
        n += 1
    return n


def method():
    solver = Solver()
    while not solver.converged():
        solver.step()
    return solver.turns


def again():
    """Sooner, if it was taken to end before."""
    n = 0
    for _ in range(20):
        while not x > 6:
            n += 1
    return n


def in_vain():
    n = 0
    try:
        while x.item() != 12345.6:
            n += 1
    except RuntimeError as error:
        assert "waits.py" in str(error) and "without progress: a loop waits for a value" in str(error), error
        return n


def counts():
    n = 0
    while n < 1000:
        n += 1
        if x > 7:
            break
    return n


def counts_for():
    for n in range(1000):
        if x > 8:
            break
    return n + 1


def grows():
    n, kept = 0, []
    while not x > 9:
        n += 1
        kept.append(torch.empty(1 << 20, device="cuda"))
        if len(kept) > 999:
            break
    return n


def finite():
    for n in range(1):
        while not torch.isnan(x * torch.rand(1 << 20, device="cuda")).any():
            n += 1
            if sum([n, 0]) == 3 * patience:
                return n


def told():
    n = 0
    while n * 1.0 < 1000:
        n += 1
        float(x)
    return n


P = patience
WANT = {boolean: P, number: P, same: P, copied: P, integer: P, count: P, equal: P, method: P, counts: 1000, counts_for: 1000, grows: 1000, finite: 3 * P, told: 1000}
if patience > 0:
    for function, want in WANT.items():
        got = function()
        if not want - 3 < got < want * 1.3:  # a number has more values, of which the first is what it was
            wrong.append(f"{function.__name__}: {got}, not {want}")
    if not P < again() < 3 * P:
        wrong.append("again")
    if not 5 * P < in_vain() < 15 * P:
        wrong.append("in_vain")
elif counts() != 1000 or grows() != 1000:
    wrong.append("without patience")
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
