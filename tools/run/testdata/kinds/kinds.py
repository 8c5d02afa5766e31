"""Programs of many kinds, for a comparison of "gaugeblock run" with a GPU: kinds.py NAME OUT [LIMIT]

OUT gets the peaks as JSON; OUT.pickle the memory snapshot, if the variable SNAPSHOT is set. LIMIT is a
number of bytes that the allocator may reserve. kinds.py --list tells the names.
"""
import json
import os
import random
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
import torch

PROGRAMS = {}
CUDA = "cuda"


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def define(name, function, *arguments, **more):
    """A program that is a function with other arguments."""
    PROGRAMS[name] = lambda: function(*arguments, **more)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-4),
    "fused": lambda p: torch.optim.AdamW(p, lr=1e-4, fused=True),
    "loop": lambda p: torch.optim.Adam(p, foreach=False),
    "rmsprop": lambda p: torch.optim.RMSprop(p),
    "adagrad": lambda p: torch.optim.Adagrad(p),
    "adafactor": lambda p: torch.optim.Adafactor(p),
}


def train(model, loss, optimizer="adam", amp=None, steps=3, clip=False):
    """loss(step) gives the loss of a batch; amp is a type of autocast."""
    model.train()
    o = OPTIMIZERS[optimizer](model.parameters())
    scaler = torch.amp.GradScaler(CUDA, enabled=amp is torch.float16)
    for i in range(steps):
        o.zero_grad()
        with torch.autocast(CUDA, amp or torch.float16, enabled=amp is not None):
            value = loss(i)
        scaler.scale(value).backward()
        if clip:
            scaler.unscale_(o)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(o)
        scaler.update()


def ids(batch, length, words=1000):
    return torch.randint(5, words, (batch, length)).to(CUDA)


def packages():
    """The versions of the packages that were used."""
    from importlib import metadata
    found = {}
    for name in ("transformers", "torchvision", "timm", "diffusers", "peft", "torch_geometric", "lightning", "trl", "gpytorch", "sentence_transformers", "bitsandbytes"):
        if name in sys.modules:
            found[name] = metadata.version(name)
    return found


def main():
    if sys.argv[1] == "--list":
        print(*PROGRAMS)
        return
    name, out = sys.argv[1:3]
    limit = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    torch.manual_seed(0)
    random.seed(0)
    torch.cuda.init()
    if limit:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction((limit + 0.5) / total)
    if os.environ.get("SNAPSHOT"):
        torch.cuda.memory._record_memory_history(enabled="all", context="alloc", stacks="python", max_entries=1000000)
    out_of_memory = None
    try:
        PROGRAMS[name]()
    except torch.OutOfMemoryError as error:
        out_of_memory = str(error)[:300]
    torch.cuda.synchronize()
    s = torch.cuda.memory_stats()
    result = {
        "program": name, "limit": limit, "oom": out_of_memory, "torch": torch.__version__,
        "peak_allocated": s["allocated_bytes.all.peak"], "peak_reserved": s["reserved_bytes.all.peak"],
        "allocations": s["allocation.all.allocated"], "driver_allocations": s["num_device_alloc"],
        "retries": s["num_alloc_retries"], "packages": packages(),
    }
    if os.environ.get("SNAPSHOT"):
        torch.cuda.memory._dump_snapshot(out + ".pickle")
    with open(out, "w") as f:
        json.dump(result, f)
    print(json.dumps(result))


if __name__ == "__main__":
    sys.modules["kinds"] = sys.modules["__main__"]
    import vision, language, others, loops, trainers  # noqa: F401
    main()
