"""Two streams: what one allocates another reads, so that the memory is free again only when that is over.

    python streams.py KIND OUT

KIND is a function below. OUT.rank0.json has what the allocator did."""
import json
import os
import random
import sys

import torch

sizes = random.Random(7)


def gather(steps=10, shards=12, ranks=4):
    """Parameters in shards are put together on a side stream, as FSDP does, and used on the main one."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    parameters = [torch.randn(sizes.randrange(1 << 20, 25 << 18), device="cuda") for _ in range(shards)]
    for _ in range(steps):
        for shard in parameters:
            side.wait_stream(main)
            with torch.cuda.stream(side):
                whole = torch.cat([shard] * ranks)
            main.wait_stream(side)
            x = torch.randn(sizes.randrange(1 << 19, 1 << 21), device="cuda")
            y = x * whole[: len(x)]
            whole.record_stream(main)
            del whole, x, y


def prefetch(steps=12, layers=10, ahead=2):
    """Weights come from the host on a side stream, some layers before they are used."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    held = [torch.randn(2048, sizes.randrange(1024, 6144), pin_memory=True) for _ in range(layers)]

    def fetch(i):
        with torch.cuda.stream(side):
            return held[i].to("cuda", non_blocking=True)

    for _ in range(steps):
        x = torch.randn(sizes.randrange(512, 4096), 2048, device="cuda")
        coming = [fetch(i) for i in range(ahead)]
        for i in range(layers):
            if i + ahead < layers:
                coming.append(fetch(i + ahead))
            weight = coming.pop(0)
            main.wait_stream(side)
            weight.record_stream(main)
            x = ((x @ weight) @ weight.T) / weight.numel()
            del weight


def batches(steps=10, features=4096):
    """The next batch comes from the host on a side stream, and is made ready there, while the model computes."""
    model = torch.nn.Sequential(torch.nn.Linear(features, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    host = [torch.randint(0, 256, (sizes.randrange(2000, 9000), features), dtype=torch.uint8).pin_memory() for _ in range(4)]

    def fetch(i):
        with torch.cuda.stream(side):
            return host[i % len(host)].to("cuda", non_blocking=True).float().sub_(128).div_(64)

    coming = fetch(0)
    for i in range(steps):
        main.wait_stream(side)
        x = coming
        x.record_stream(main)
        coming = fetch(i + 1)
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def average(steps=20):
    """A running average of the parameters is updated on a side stream, from copies."""
    layers = [torch.randn(sizes.randrange(256, 2048), 2048, device="cuda") for _ in range(16)]
    averages = [layer.clone() for layer in layers]
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    for _ in range(steps):
        for layer, mean in zip(layers, averages):
            x = torch.randn(sizes.randrange(128, 1024), 2048, device="cuda")
            layer.add_((x @ layer.T).T @ x, alpha=1e-6)
            copy = layer.clone()
            side.wait_stream(main)
            with torch.cuda.stream(side):
                mean.lerp_(copy, 0.01)
            copy.record_stream(side)
            del copy


def offload(steps=8, layers=12):
    """What a layer made goes to the host on a side stream, and comes back for the backward pass."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    weights = [torch.randn(2048, 2048, device="cuda") / 45 for _ in range(layers)]
    hosts = [torch.empty(4096, 2048, pin_memory=True) for _ in range(layers)]
    for _ in range(steps):
        rows = sizes.randrange(1024, 4096)
        x = torch.randn(rows, 2048, device="cuda")
        for weight, host in zip(weights, hosts):
            side.wait_stream(main)
            with torch.cuda.stream(side):
                host[:rows].copy_(x, non_blocking=True)
            x.record_stream(side)
            x = torch.relu(x @ weight)
        for weight, host in zip(reversed(weights), reversed(hosts)):
            with torch.cuda.stream(side):
                back = host[:rows].to("cuda", non_blocking=True)
            main.wait_stream(side)
            back.record_stream(main)
            x = (x * (back > 0)) @ weight.T
            del back
        del x


def loader(steps=12, ahead=3):
    """Batches of images come from the host some steps ahead, as bytes, for a network in bfloat16."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 64 * 64, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 1000)).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    mean = torch.full((1, 3, 1, 1), 120.0, device="cuda")
    host = [torch.randint(0, 256, (sizes.randrange(500, 3000), 3, 64, 64), dtype=torch.uint8).pin_memory() for _ in range(5)]

    def fetch(i):
        with torch.cuda.stream(side):
            images = host[i % len(host)].cuda(non_blocking=True)
            return ((images - mean) / 60).bfloat16(), side.record_event()

    coming = [fetch(i) for i in range(ahead)]
    for i in range(steps):
        x, ready = coming.pop(0)
        main.wait_event(ready)
        x.record_stream(main)
        coming.append(fetch(i + ahead))
        torch.nn.functional.mse_loss(model(x).float(), torch.zeros(len(x), 1000, device="cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()


def buckets(steps=8, layers=14, bucket=40 << 20):
    """Gradients are put together in buckets, which a side stream adds up and gives back, as data parallel does."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    widths = [sizes.randrange(512, 3072) for _ in range(layers)]
    model = torch.nn.Sequential(*(torch.nn.Linear(a, b) for a, b in zip(widths, widths[1:]))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        model(torch.randn(sizes.randrange(256, 2048), widths[0], device="cuda")).square().mean().backward()
        done, group = [], []
        for i, p in enumerate(reversed(list(model.parameters()))):
            group.append(p.grad)
            p.grad = None
            if sum(g.nbytes for g in group) > bucket or i == 2 * layers - 3:
                flat = torch.cat([g.flatten() for g in group])
                side.wait_stream(main)
                with torch.cuda.stream(side):
                    total = flat * 0.5 + flat.roll(1) * 0.5
                flat.record_stream(side)
                done.append((total, group))
                group = []
        main.wait_stream(side)
        for total, group in done:
            total.record_stream(main)
        optimizer.step()
        optimizer.zero_grad()
        del done, total, flat, group


def branches(steps=10, depth=6):
    """Two branches of a network, each on a stream of its own, whose results the main stream adds up."""
    main, streams = torch.cuda.current_stream(), [torch.cuda.Stream() for _ in range(2)]
    weights = [torch.randn(1536, 1536, device="cuda") / 40 for _ in range(2 * depth)]
    for _ in range(steps):
        x = torch.randn(sizes.randrange(1000, 9000), 1536, device="cuda")
        for layer in range(depth):
            parts = []
            for k, stream in enumerate(streams):
                stream.wait_stream(main)
                with torch.cuda.stream(stream):
                    parts.append(torch.relu(x @ weights[2 * layer + k]))
                x.record_stream(stream)
            for part, stream in zip(parts, streams):
                main.wait_stream(stream)
                part.record_stream(main)
            x = parts[0] + parts[1]
            del parts, part


def saved(steps=6, layers=10):
    """What autograd keeps for the backward pass goes to the host on a side stream, and comes back on it."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    model = torch.nn.Sequential(*(m for _ in range(layers) for m in (torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)))).cuda()
    held = {}

    def pack(x):
        if x.numel() < 1 << 20 or x.t().is_contiguous() or isinstance(x, torch.nn.Parameter):
            return x
        side.wait_stream(main)
        with torch.cuda.stream(side):
            host = held.setdefault((len(held), x.shape), torch.empty(x.shape, dtype=x.dtype, pin_memory=True))
            host.copy_(x, non_blocking=True)
        x.record_stream(side)
        return host

    def unpack(x):
        if x.is_cuda:
            return x
        with torch.cuda.stream(side):
            back = x.to("cuda", non_blocking=True)
        main.wait_stream(side)
        back.record_stream(main)
        return back

    for _ in range(steps):
        held.clear()
        x = torch.randn(sizes.randrange(1500, 6000), 1024, device="cuda")
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            loss = model(x).square().mean()
        loss.backward()
        model.zero_grad()
        del x, loss


def stages(steps=8, parts=6):
    """Two halves of a network, each on a stream of its own, through which parts of a batch go one after the other."""
    main, streams = torch.cuda.current_stream(), [torch.cuda.Stream() for _ in range(2)]
    halves = [[torch.randn(2048, 2048, device="cuda") / 45 for _ in range(3)] for _ in range(2)]
    for _ in range(steps):
        outs = []
        for _ in range(parts):
            x = torch.randn(sizes.randrange(400, 3000), 2048, device="cuda")
            before = main
            for stream, weights in zip(streams, halves):
                stream.wait_stream(before)
                x.record_stream(stream)
                with torch.cuda.stream(stream):
                    for weight in weights:
                        x = torch.nn.functional.gelu(x @ weight)
                before = stream
            main.wait_stream(before)
            x.record_stream(main)
            outs.append(x.mean(0))
            del x
        torch.stack(outs).sum()
        del outs


def states(steps=10, layers=16):
    """Moments of an optimizer live on the host: they come on a side stream before a layer's update, and go back after it."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    parameters = [torch.randn(sizes.randrange(200, 2600), 2048, device="cuda") for _ in range(layers)]
    moments = [torch.zeros(p.shape, pin_memory=True) for p in parameters]
    for _ in range(steps):
        x = torch.randn(sizes.randrange(500, 2500), 2048, device="cuda")
        for p, moment in zip(parameters, moments):
            grad = (x @ p.T).relu_().T @ x / 1e4
            with torch.cuda.stream(side):
                m = moment.to("cuda", non_blocking=True)
            main.wait_stream(side)
            m.mul_(0.9).add_(grad, alpha=0.1)
            p.add_(m, alpha=-1e-3)
            side.wait_stream(main)
            with torch.cuda.stream(side):
                moment.copy_(m, non_blocking=True)
            m.record_stream(main)
            m.record_stream(side)
            del m, grad


def shards(steps=10, layers=12, width=1536, ranks=4):
    """Layers in bfloat16 whose weights are put together from shards on a side stream, one layer ahead, forward and backward."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    held = [[torch.randn(4 * width // ranks, width, device="cuda").bfloat16() / 40 for _ in range(ranks)] for _ in range(layers)]

    def whole(i):
        with torch.cuda.stream(side):
            return torch.cat(held[i]), side.record_event()

    for _ in range(steps):
        x = torch.randn(sizes.randrange(1000, 12000), width, device="cuda").bfloat16()
        order = [*range(layers), *reversed(range(layers))]
        coming = whole(order[0])
        for i, following in zip(order, [*order[1:], None]):
            weight, ready = coming
            if following is not None:
                side.wait_stream(main)
                coming = whole(following)
            main.wait_event(ready)
            x = torch.nn.functional.silu(x @ weight.T) @ weight
            weight.record_stream(main)
            del weight
        del x, coming


def evaluate(steps=12):
    """What the model makes of a batch is scored on a side stream, while the next batch is computed."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    head = torch.randn(1024, 8192, device="cuda") / 32
    totals = torch.zeros(8192, device="cuda")
    with torch.no_grad():
        for _ in range(steps):
            for _ in range(4):
                y = model(torch.randn(sizes.randrange(300, 4000), 1024, device="cuda"))
                side.wait_stream(main)
                with torch.cuda.stream(side):
                    totals += (y @ head).log_softmax(-1).mean(0)
                y.record_stream(side)
                del y


def teacher(steps=10):
    """A larger network scores each batch on a side stream, for one that learns from it on the main one."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    large = torch.nn.Sequential(torch.nn.Linear(1024, 6144), torch.nn.GELU(), torch.nn.Linear(6144, 512)).cuda()
    small = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 512)).cuda()
    optimizer = torch.optim.Adam(small.parameters())
    for _ in range(steps):
        x = torch.randn(sizes.randrange(500, 5000), 1024, device="cuda")
        side.wait_stream(main)
        with torch.no_grad(), torch.cuda.stream(side):
            goal = large(x).softmax(-1)
        x.record_stream(side)
        y = small(x).log_softmax(-1)
        main.wait_stream(side)
        goal.record_stream(main)
        torch.nn.functional.kl_div(y, goal, reduction="batchmean").backward()
        optimizer.step()
        optimizer.zero_grad()


def reduce(steps=12, layers=10):
    """Products of layers are summed up in fp32 on a side stream, in two halves."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    weights = [torch.randn(1024, sizes.randrange(512, 3072), device="cuda") / 32 for _ in range(layers)]
    sums = [torch.zeros(w.shape[1], device="cuda") for w in weights]
    for _ in range(steps):
        x = torch.randn(sizes.randrange(256, 4096), 1024, device="cuda")
        for weight, total in zip(weights, sums):
            y = x @ weight
            side.wait_stream(main)
            with torch.cuda.stream(side):
                total += y[::2].square().sum(0) + y[1::2].abs().sum(0)
            y.record_stream(side)
            del y


def experts(steps=10, count=4, width=1024):
    """Rows go to one of several networks by chance, which take turns on two streams."""
    main, streams = torch.cuda.current_stream(), [torch.cuda.Stream() for _ in range(2)]
    nets = [[torch.randn(width, 4 * width, device="cuda") / 32, torch.randn(4 * width, width, device="cuda") / 64] for _ in range(count)]
    for _ in range(steps):
        x = torch.randn(sizes.randrange(2000, 10000), width, device="cuda")
        parts = list(x.split([len(x) // count] * (count - 1) + [len(x) - len(x) // count * (count - 1)]))
        outs = []
        for i, (part, (up, down)) in enumerate(zip(parts, nets)):
            stream = streams[i % 2]
            stream.wait_stream(main)
            with torch.cuda.stream(stream):
                outs.append(torch.nn.functional.gelu(part @ up) @ down)
            x.record_stream(stream)
        for stream in streams:
            main.wait_stream(stream)
        for out in outs:
            out.record_stream(main)
        torch.cat(outs).mean()
        del x, parts, part, outs, out


def main():
    kind, out = sys.argv[1:]
    torch.manual_seed(7)
    globals()[kind]()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    free, total = torch.cuda.mem_get_info()
    with open(f"{out}.rank0.json", "w", encoding="utf-8") as f:
        json.dump({
            "kind": kind, "settings": os.environ.get("PYTORCH_ALLOC_CONF", ""), "rank": 0, "ranks": 1, "torch": torch.__version__,
            "peak_allocated": stats["allocated_bytes.all.peak"], "peak_reserved": stats["reserved_bytes.all.peak"],
            "allocations": stats["allocation.all.allocated"], "driver_allocations": stats["num_device_alloc"],
            "outside": total - free - stats["reserved_bytes.all.current"],
        }, f)


main()
