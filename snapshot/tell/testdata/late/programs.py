"""Three programs, recorded whole and late, and what they reserve under other settings and limits:

    python programs.py OUT             records them, and runs them under all settings and limits
    python programs.py OUT PROGRAM START SETTINGS LIMIT NAME [record]     one run of these

lm is a language model that is trained on sequences of different lengths, detect a convolutional
network on images of different sizes, and serve decodes with caches that grow. A record, and the
statistics, begin with step START. On a fake GPU convolutions ask for no workspaces.
"""
import concurrent.futures
import json
import os
import random
import subprocess
import sys

SETTINGS = {"default": "", "expandable": "expandable_segments:True", "gc6": "garbage_collection_threshold:0.6",
            "round8": "roundup_power2_divisions:8", "split64": "max_split_size_mb:64",
            "split32gc8": "max_split_size_mb:32,garbage_collection_threshold:0.8"}
PROGRAMS = {"lm": 4, "detect": 5, "serve": 60}  # where their late records begin
MIB = 1 << 20


def lm(torch, r):
    nn, F = torch.nn, torch.nn.functional
    width, vocabulary = 512, 16384
    model = nn.Sequential(nn.Embedding(vocabulary, width), *[nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, batch_first=True) for _ in range(6)],
                          nn.Linear(width, vocabulary)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    for _ in range(14):
        for _ in range(r.randint(1, 2)):
            tokens = torch.randint(vocabulary, (r.randint(2, 6), r.randint(96, 320)), device="cuda")
            F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        yield


def detect(torch, r):
    nn = torch.nn
    layers, channels = [], 3
    for i, wider in enumerate([32, 64, 64, 128, 128, 256, 256]):
        layers += [nn.Conv2d(channels, wider, 5 if i < 3 else 3, stride=1 + i % 2, padding=2), nn.BatchNorm2d(wider), nn.ReLU()]
        channels = wider
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 100)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    for _ in range(18):
        side = r.choice([128, 160, 192, 224, 256, 288])
        images = torch.randn(r.randint(3, 8), 3, side, side + 32 * r.randint(0, 2), device="cuda")
        loss = model(images).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


def serve(torch, r):
    F, width, layers = torch.nn.functional, 1024, 6
    weights = [[torch.randn(width, 4 * width, device="cuda") * 0.01, torch.randn(2 * width, width, device="cuda") * 0.01] for _ in range(layers)]
    requests = []
    with torch.no_grad():
        for _ in range(160):
            if len(requests) < 6 and r.random() < 0.5:
                requests.append({"left": r.randint(10, 50), "cache": [torch.zeros(2, 1, r.randint(100, 700), width, device="cuda")] * layers})
            for request in requests:
                x = torch.randn(1, r.choice([1, 1, 8, 32]), width, device="cuda")
                for i, (up, down) in enumerate(weights):
                    q, k, v, gate = (x @ up).chunk(4, -1)
                    request["cache"][i] = torch.cat([request["cache"][i], torch.stack([k, v])], 2)
                    k, v = request["cache"][i]
                    x = torch.cat([F.scaled_dot_product_attention(q, k, v), gate], -1) @ down
                request["left"] -= 1
            requests = [request for request in requests if request["left"]]
            yield


def one(out, program, start, settings, limit, name, record):
    os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = settings
    import torch
    memory, total = torch.cuda.memory, torch.cuda.get_device_properties(0).total_memory
    torch.manual_seed(1)
    if limit:
        torch.cuda.set_per_process_memory_fraction((limit + 0.25) / total)
    steps, oom, before, s = 0, None, None, memory.memory_stats
    try:
        run = globals()[program](torch, random.Random(7))
        while True:
            if steps == start:
                torch.cuda.synchronize()
                memory.reset_peak_memory_stats()
                before = s()
                if record:
                    memory._record_memory_history(enabled="all", context="all", stacks="python", max_entries=1 << 20)
            if next(run, run) is run:
                break
            steps += 1
    except torch.OutOfMemoryError as e:
        oom = str(e)
    if record:
        memory._dump_snapshot(f"{out}/{name}.pickle")
    count = {k: s().get(k, 0) - (before or {}).get(k, 0) for k in ("num_alloc_retries", "num_ooms", "num_device_alloc", "num_device_free")}
    with open(f"{out}/{name}.json", "w") as f:
        json.dump({"program": program, "settings": settings, "limit": limit, "start": start, "began": before is not None, "steps_done": steps, "oom": oom,
                   "peak_allocated": s().get("allocated_bytes.all.peak", 0), "peak_reserved": s().get("reserved_bytes.all.peak", 0), **count}, f)


def everything(out):
    def begin(*job):
        name = job[4]
        with open(f"{out}/{name}.log", "w") as log:
            status = subprocess.run([sys.executable, __file__, out, *map(str, job)], stdout=log, stderr=subprocess.STDOUT).returncode
        print(name, status, flush=True)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "10"))) as pool:
        records = [pool.submit(begin, p, start, "", 0, f"{p}{late}.default.nolimit", "record") for p, last in PROGRAMS.items() for late, start in (("", 0), ("_late", last))]
        concurrent.futures.wait(records)
        for p, start in PROGRAMS.items():
            with open(f"{out}/{p}_late.default.nolimit.json") as f:
                run = json.load(f)
            allocated, reserved = run["peak_allocated"], run["peak_reserved"]
            limits = {"nolimit": 0, "tight": (allocated + (reserved - allocated) * 15 // 100) // (2 * MIB) * 2 * MIB,
                      "loose": (allocated + (reserved - allocated) * 60 // 100) // (2 * MIB) * 2 * MIB}
            for word, settings in SETTINGS.items():
                for limited, limit in limits.items():
                    for late, first in (("", 0), ("_late", start)):
                        if word != "default" or limit:
                            pool.submit(begin, p, first, settings, limit, f"{p}{late}.{word}.{limited}")


if len(sys.argv) == 2:
    everything(sys.argv[1])
else:
    one(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]), sys.argv[6], sys.argv[7:] == ["record"])
