"""Wrong figure: the recorded memory history is out of order when its length was changed.

A longer ring is joined at the wrong place, and a shorter one does not get shorter.
"""
import sys

import torch

torch.empty(1, device="cuda")


def record(name, lengths):
    torch.cuda.memory._record_memory_history(None)
    sizes = iter(range(1, 1000))
    keep = []
    for length in lengths:
        torch.cuda.memory._record_memory_history("all", context=None, max_entries=length)
        keep += [torch.empty(512 * next(sizes), dtype=torch.uint8, device="cuda") for _ in range(6)]
    entries = torch.cuda.memory._snapshot()["device_traces"][0]
    order = [e["size"] // 512 for e in entries if e["action"] == "alloc"]
    print(f"{name}: ring of {lengths}: {len(entries)} entries, tensors in the order {order}")
    return order != sorted(order) or len(entries) > lengths[-1]


faults = [record("longer", [4, 8]), record("shorter", [10, 3])]
sys.exit(1 if any(faults) else 0)
