"""What is taken for values that are not known. Ends with 1 if something else is."""
import sys

import torch

x, row = torch.rand(4, 50000, device="cuda"), torch.rand(100000, device="cuda")
inf = float("inf")
rows = [[25000 + 2 * i, 25001 + 2 * i] for i in range(4)]
wrong = [f"{what}: {got}, not {want}" for what, got, want in [
    # A number is finite, and no NaN; two tensors are not equal.
    ("equal to itself", bool((x == x).all()), True),
    ("equal to another", bool((x == (x + 1)).any()), False),
    ("not equal to infinity", bool((x != inf).all()), True),
    ("less than infinity", bool((x < inf).all()), True),
    ("at most infinity", bool((x <= inf).all()), True),
    ("equal to infinity", bool((x == inf).any()), False),
    ("not equal to a number", bool((x != 3).any()), False),
    # Choices are made in turn, from the middle.
    ("topk", x.topk(2).indices.tolist(), rows),
    ("topk of columns", x.topk(2, dim=0).indices.t()[:3].tolist(), [[2, 3], [0, 1], [2, 3]]),
    ("argmax", x.argmax(1).tolist(), [25000, 25001, 25002, 25003]),
    ("argmax of columns", x.argmax(0)[:3].tolist(), [2, 3, 0]),
    ("max", x.max(1).indices.tolist(), [25000, 25001, 25002, 25003]),
    ("max of all", x.argmax().tolist(), 0),
    ("max of a row", row.max(0).indices.tolist(), 0),
    ("multinomial", torch.multinomial(x, 2).tolist(), rows),
    # What is sorted is in order.
    ("sort", x.sort().indices[:, :3].tolist(), [[0, 1, 2]] * 4),
    ("sort of columns", x.sort(0).indices[:, :2].t().tolist(), [[0, 1, 2, 3]] * 2),
    ("stable sort", x.sort(dim=0, stable=True).indices[:, 0].tolist(), [0, 1, 2, 3]),
] if got != want]
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
