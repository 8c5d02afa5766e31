"""Trains a small transformer for six steps, parallel in one of several ways, and writes what the allocator did.

    torchrun --nproc-per-node N parallel.py KIND OUT      writes OUT.rankR.json

KIND is a function below. Lengths of sequences differ from step to step and are the same on all ranks."""
import json
import os
import random
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DEVICE = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
VOCABULARY, WIDTH, HEADS, LAYERS, BATCH, STEPS = 16000, 768, 12, 8, 4, 6
lengths = random.Random(5)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        y = self.before(x)
        query, key, value = (m(y).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for m in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Model(nn.Module):
    """With layers alone it is a stage of a pipeline; the first has the embedding and the last the head."""

    def __init__(self, layers=LAYERS, first=True, last=True, checkpoints=False):
        super().__init__()
        self.checkpoints = checkpoints
        self.embedding = nn.Embedding(VOCABULARY, WIDTH) if first else None
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.head = nn.Linear(WIDTH, VOCABULARY) if last else None

    def forward(self, x):
        x = x if self.embedding is None else self.embedding(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoints else block(x)
        return x if self.head is None else self.head(x)


def loss_of(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1), tokens.flatten())


def tokens(length=None):
    length = length or lengths.choice([256, 400, 512])
    return torch.randint(0, VOCABULARY, (BATCH, length)).to(DEVICE)


def train(model, optimizer):
    for _ in range(STEPS):
        x = tokens()
        loss_of(model(x), x).backward()
        optimizer.step()
        optimizer.zero_grad()


def ddp(**options):
    model = nn.parallel.DistributedDataParallel(Model().to(DEVICE), device_ids=[DEVICE.index], **options)
    train(model, torch.optim.AdamW(model.parameters()))


def ddp_view():
    ddp(gradient_as_bucket_view=True, bucket_cap_mb=50)


def zero(views=False):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = nn.parallel.DistributedDataParallel(Model().to(DEVICE), device_ids=[DEVICE.index], gradient_as_bucket_view=views)
    train(model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, parameters_as_bucket_view=views, lr=1e-3))


def zero_view():
    zero(views=True)


def wrapped():
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    return FullyShardedDataParallel(Model(), auto_wrap_policy=ModuleWrapPolicy([Block]), device_id=DEVICE, use_orig_params=True,
                                    mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16))


def fsdp1():
    model = wrapped()
    train(model, torch.optim.AdamW(model.parameters()))


def accumulate(model, optimizer):
    """Gradients of two backward passes are added up before they are exchanged."""
    for _ in range(STEPS):
        with model.no_sync():
            x = tokens()
            loss_of(model(x), x).backward()
        x = tokens()
        loss_of(model(x), x).backward()
        optimizer.step()
        optimizer.zero_grad()


def fsdp1_accumulate():
    model = wrapped()
    accumulate(model, torch.optim.AdamW(model.parameters()))


def fsdp2():
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    model, policy = Model(), MixedPrecisionPolicy(torch.bfloat16)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    train(model, torch.optim.AdamW(model.parameters()))


def tensor():
    """The linear layers of each block, by columns and then by rows."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    model, mesh = Model().to(DEVICE), init_device_mesh("cuda", (RANKS,))
    columns, rows = ColwiseParallel(), RowwiseParallel()
    for block in model.blocks:
        parallelize_module(block, mesh, {"query": columns, "key": columns, "value": columns, "out": rows, "up": columns, "down": rows})
    train(model, torch.optim.AdamW(model.parameters(), foreach=False))  # some parameters are whole on each rank


def pipeline(kind=None):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    last = RANK == RANKS - 1
    model = Model(max(LAYERS // RANKS, 1), first=RANK == 0, last=last).to(DEVICE)
    stage = PipelineStage(model, RANK, RANKS, DEVICE)
    schedule = (kind or Schedule1F1B)(stage, n_microbatches=BATCH, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        x = tokens(512)
        schedule.step(*([x] if RANK == 0 else []), **({"target": x} if last else {}))
        optimizer.step()
        optimizer.zero_grad()


def context():
    """Ring attention: each rank has a part of each sequence."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.experimental import context_parallel

    model, mesh = Model().to(DEVICE), init_device_mesh("cuda", (RANKS,))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        x = tokens(512)
        y = x.clone()
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION), \
                torch.autocast("cuda", torch.bfloat16), context_parallel(mesh, buffers=[x, y], buffer_seq_dims=[1, 1]):
            loss_of(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


def wide():
    """Other sizes: wider blocks, of which a pipeline has 4, and fewer tokens."""
    global WIDTH, HEADS, LAYERS, VOCABULARY, BATCH
    WIDTH, HEADS, LAYERS, VOCABULARY, BATCH = 1280, 10, 4, 9000, 3


def fsdp1_wide():
    """In fp32, with PyTorch's defaults."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    wide()
    model = FullyShardedDataParallel(Model(), auto_wrap_policy=ModuleWrapPolicy([Block]), device_id=DEVICE)
    train(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9))


def fsdp1_gradients():
    """Gradients and the optimizer's state are sharded, parameters stay whole until the backward pass (ZeRO 2)."""
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    wide()
    model = FullyShardedDataParallel(Model(), auto_wrap_policy=ModuleWrapPolicy([Block]), device_id=DEVICE, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)
    train(model, torch.optim.AdamW(model.parameters()))


def zero_wide():
    wide()
    zero()


def ddp_unused():
    """Small buckets, and a layer that takes no part."""
    wide()
    model = Model()
    model.unused = nn.Linear(WIDTH, WIDTH)
    model = nn.parallel.DistributedDataParallel(model.to(DEVICE), device_ids=[DEVICE.index], bucket_cap_mb=10, find_unused_parameters=True)
    train(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9))


def ddp_images():
    """Convolutions whose batch normalization is over all ranks."""
    widths = [3, 64, 128, 256, 512]
    layers = [m for i, o in zip(widths, widths[1:]) for m in (nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))]
    model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(*layers, nn.Flatten(), nn.Linear(512 * 16, 4096), nn.ReLU(), nn.Linear(4096, 1000)))
    model = nn.parallel.DistributedDataParallel(model.to(DEVICE), device_ids=[DEVICE.index])
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(STEPS):
        size = lengths.choice([64, 80])
        x = F.interpolate(torch.randn(64, 3, size, size).to(DEVICE), 64)
        F.cross_entropy(model(x), torch.randint(0, 1000, (64,)).to(DEVICE)).backward()
        optimizer.step()
        optimizer.zero_grad()


def tensor_sequence():
    """Tensor parallel with normalization sharded over the sequence."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module

    wide()
    model, mesh = Model().to(DEVICE), init_device_mesh("cuda", (RANKS,))
    parallelize_module(model, mesh, {"embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
                                     "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())})
    for block in model.blocks:
        parallelize_module(block, mesh, {
            "before": SequenceParallel(), "between": SequenceParallel(),
            "query": ColwiseParallel(input_layouts=Shard(1)), "key": ColwiseParallel(input_layouts=Shard(1)), "value": ColwiseParallel(input_layouts=Shard(1)),
            "out": RowwiseParallel(output_layouts=Shard(1)),
            "up": ColwiseParallel(input_layouts=Shard(1)), "down": RowwiseParallel(output_layouts=Shard(1)),
        })
    train(model, torch.optim.AdamW(model.parameters(), foreach=False))


def pipeline_gpipe():
    from torch.distributed.pipelining import ScheduleGPipe

    wide()
    pipeline(ScheduleGPipe)


def middle():
    """Other sizes again: a width between, and other lengths."""
    global WIDTH, HEADS, VOCABULARY, BATCH
    WIDTH, HEADS, VOCABULARY, BATCH = 1024, 8, 12000, 3
    lengths.seed(11)


def replicated(checkpoints=False, **options):
    middle()
    return nn.parallel.DistributedDataParallel(Model(checkpoints=checkpoints).to(DEVICE), device_ids=[DEVICE.index], **options)


def ddp_static():
    """A static graph, and blocks that are computed again in the backward pass."""
    model = replicated(checkpoints=True, static_graph=True)
    train(model, torch.optim.AdamW(model.parameters()))


def ddp_accumulate():
    model = replicated(gradient_as_bucket_view=True)
    accumulate(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9))


def ddp_half():
    """Gradients are exchanged in bfloat16."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

    model = replicated()
    model.register_comm_hook(None, bf16_compress_hook)
    train(model, torch.optim.AdamW(model.parameters()))


def zero_momentum():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = replicated(bucket_cap_mb=15, gradient_as_bucket_view=True)
    train(model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.SGD, lr=0.1, momentum=0.9))


def fsdp1_loose():
    """The host does not wait for what it has gathered, and gathers ahead."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    middle()
    model = FullyShardedDataParallel(Model(), auto_wrap_policy=ModuleWrapPolicy([Block]), device_id=DEVICE, limit_all_gathers=False, forward_prefetch=True)
    train(model, torch.optim.AdamW(model.parameters()))


def sharded(**options):
    from torch.distributed.fsdp import fully_shard

    middle()
    model = Model()
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def fsdp2_kept():
    """Parameters stay whole between the passes (ZeRO 2)."""
    model = sharded(reshard_after_forward=False)
    train(model, torch.optim.AdamW(model.parameters()))


def fsdp2_accumulate():
    """Gradients are exchanged after each second backward pass."""
    model = sharded()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for i in range(2 * STEPS):
        model.set_requires_gradient_sync(i % 2 == 1)
        x = tokens()
        loss_of(model(x), x).backward()
        if i % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()


def deepspeed(stage):
    import deepspeed as engines

    middle()
    model = Model()
    engine, *_ = engines.initialize(model=model, model_parameters=model.parameters(), config={
        "train_micro_batch_size_per_gpu": BATCH, "bf16": {"enabled": True}, "zero_optimization": {"stage": stage, "overlap_comm": True},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}}})
    for _ in range(STEPS):
        x = tokens()
        engine.backward(loss_of(engine(x), x))
        engine.step()


def deepspeed1():
    deepspeed(1)


def deepspeed2():
    deepspeed(2)


def deepspeed3():
    deepspeed(3)


def narrow():
    """Other sizes once more: narrower blocks, more sequences, and lengths of their own."""
    global WIDTH, HEADS, VOCABULARY, BATCH
    WIDTH, HEADS, VOCABULARY, BATCH = 640, 10, 20000, 6
    lengths.seed(23)


def fsdp1_parts():
    """Wrapped by size, gathered late in the backward pass, and gradients are clipped."""
    from functools import partial
    from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

    narrow()
    model = FullyShardedDataParallel(Model(), auto_wrap_policy=partial(size_based_auto_wrap_policy, min_num_params=1_500_000), device_id=DEVICE,
                                     backward_prefetch=BackwardPrefetch.BACKWARD_POST)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        x = tokens()
        loss_of(model(x), x).backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
        optimizer.zero_grad()


def zero_accumulate():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    narrow()
    model = nn.parallel.DistributedDataParallel(Model().to(DEVICE), device_ids=[DEVICE.index], bucket_cap_mb=40)
    accumulate(model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, parameters_as_bucket_view=True, lr=1e-3))


def ddp_clip():
    """Small buckets that are views, and gradients that are clipped."""
    narrow()
    model = nn.parallel.DistributedDataParallel(Model().to(DEVICE), device_ids=[DEVICE.index], bucket_cap_mb=5, gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        x = tokens()
        loss_of(model(x), x).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def tensor_loss():
    """Tensor parallel with a vocabulary and a loss that are divided as well."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module

    narrow()
    model, mesh = Model().to(DEVICE), init_device_mesh("cuda", (RANKS,))
    columns, rows = ColwiseParallel(), RowwiseParallel()
    parallelize_module(model, mesh, {"embedding": RowwiseParallel(input_layouts=Replicate()), "head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)})
    for block in model.blocks:
        parallelize_module(block, mesh, {"query": columns, "key": columns, "value": columns, "out": rows, "up": columns, "down": rows})
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    for _ in range(STEPS):
        for _ in range(2):
            x = tokens()
            with loss_parallel():
                loss_of(model(x), x).backward()
        optimizer.step()
        optimizer.zero_grad()


def fsdp2_offload():
    """Parameters and the optimizer's state are in the host's memory."""
    from torch.distributed.fsdp import CPUOffloadPolicy

    model = sharded(offload_policy=CPUOffloadPolicy())
    train(model, torch.optim.AdamW(model.parameters()))


def objects():
    """What ranks tell each other arrives."""
    everyone = [None] * RANKS
    dist.all_gather_object(everyone, {"rank": RANK})
    told = [f"from {RANK}"]
    dist.broadcast_object_list(told, src=RANKS - 1)
    total = torch.tensor([RANK + 1, 1], device=DEVICE)
    dist.all_reduce(total)
    right = torch.tensor([RANK], device=DEVICE)
    left = torch.empty_like(right)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, right, (RANK + 1) % RANKS), dist.P2POp(dist.irecv, left, (RANK - 1) % RANKS)]):
        work.wait()
    half = dist.new_group([0, 1])
    if RANK < 2:
        dist.all_reduce(right, group=half)
    got = [everyone, told, total.tolist(), left.tolist(), right.tolist()]
    want = [[{"rank": r} for r in range(RANKS)], [f"from {RANKS - 1}"], [RANKS * (RANKS + 1) // 2, RANKS], [(RANK - 1) % RANKS], [1 if RANK < 2 else RANK]]
    assert got == want, (got, want)


def result(kind):
    stats = torch.cuda.memory_stats(DEVICE)
    free, total = torch.cuda.mem_get_info(DEVICE)
    return {
        "kind": kind, "settings": os.environ.get("PYTORCH_ALLOC_CONF", ""), "rank": RANK, "ranks": RANKS, "torch": torch.__version__,
        "peak_allocated": stats["allocated_bytes.all.peak"], "peak_reserved": stats["reserved_bytes.all.peak"],
        "allocations": stats["allocation.all.allocated"], "driver_allocations": stats["num_device_alloc"],
        "outside": total - free - stats["reserved_bytes.all.current"],
    }


def main():
    kind, out = sys.argv[1:]
    torch.manual_seed(5)
    torch.cuda.set_device(DEVICE)
    if os.environ.get("SNAPSHOT"):
        torch.cuda.memory._record_memory_history(max_entries=2_000_000, stacks="python", context="alloc")
    dist.init_process_group("nccl", device_id=DEVICE)
    globals()[kind]()
    torch.cuda.synchronize()
    with open(f"{out}.rank{RANK}.json", "w", encoding="utf-8") as f:
        json.dump(result(kind), f)
    if os.environ.get("SNAPSHOT"):
        torch.cuda.memory._dump_snapshot(f"{out}.rank{RANK}.pickle")
    dist.barrier()
    dist.destroy_process_group()


main()
