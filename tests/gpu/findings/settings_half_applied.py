"""Settings half in force: a settings string that is refused changes the settings nevertheless.

What was set before the call is reset, and the keys in front of the mistake apply.
"""
import sys

import torch


def show(when):
    s = torch.cuda.memory._snapshot()["allocator_settings"]
    s = {k: s[k] for k in ("max_split_size", "garbage_collection_threshold", "PYTORCH_CUDA_ALLOC_CONF")}
    print(f"{when}: {s}")
    return s


torch.empty(1, device="cuda")
torch._C._accelerator_setAllocatorSettings("garbage_collection_threshold:0.6")
before = show("before")
try:
    torch._C._accelerator_setAllocatorSettings("max_split_size_mb:100,expandable_segments:true")
except Exception as e:
    print("refused:", str(e).splitlines()[0])
after = show("after ")
for text in ("max_split_size_mb,100", "max_split_size_mb:100abc"):
    try:
        torch._C._accelerator_setAllocatorSettings(text)
        print(f"accepted: {text}: max_split_size {torch.cuda.memory._snapshot()['allocator_settings']['max_split_size']}")
    except Exception as e:
        print("refused:", text)
sys.exit(1 if after["max_split_size"] != before["max_split_size"] else 0)
