"""Integers and booleans of the device have the values that the CPU computes. Ends with 1 if one differs."""
import ctypes
import math
import sys
import threading

import torch
import torch.distributed as dist
import torch.distributed.tensor

wrong = []


def same(what, f):
    want, got = f("cpu"), f("cuda")
    if isinstance(want, torch.Tensor):
        want, got = want.tolist(), got.tolist()
    if want != got:
        wrong.append(f"{what}: {got}, not {want}")


def masks(d):
    x = torch.arange(12, device=d).view(3, 4)
    return x[(x % 3 == 0) & (x > 2)]


def in_place(d):
    x = torch.zeros(6, dtype=torch.long, device=d)
    x[2:4] = 7
    x.add_(1).masked_fill_(x == 1, -1)
    return x


def zeroed(d):
    part, whole, column = torch.arange(6, device=d), torch.arange(6, device=d), torch.arange(6, device=d).view(2, 3).t()
    part[1:3].zero_(), whole.zero_(), column[0].fill_(0)
    whole[2:].fill_(5)
    expanded = torch.arange(3, device=d)[:1].expand(3).fill_(0)
    return torch.cat([part, whole, column.flatten(), expanded])


def apart(d):
    """Results are kept without a copy: what is written to one must not be seen in another."""
    x = torch.arange(4, device=d)
    y = x + 1
    z, turned = y.clone(), (x.view(2, 2) * 2).t() + 1
    largest, place = (x * 3).max(0)
    y.mul_(10), x.add_(100), place.add_(1)
    return torch.cat([x, y, z, turned.flatten(), largest[None], place[None]])


def lists(d):
    """Functions of lists of tensors, of which one is not known."""
    x, numbers = [torch.arange(3, device=d), torch.arange(4, device=d)], [torch.ones(2, device=d), torch.rand(50000, device=d)]
    torch._foreach_add_(x, 5), torch._foreach_mul_(x, [2, 3]), torch._foreach_add_(numbers, 2.0)
    other = [torch.zeros_like(t) for t in x]
    torch._foreach_copy_(other, x), torch._foreach_zero_(x[:1])
    return torch.cat(x + other + list(torch._foreach_neg(x)) + [numbers[0].long()])


def copied(d):
    """Copies that are not PyTorch's, by the runtime and the driver."""
    x, y = torch.arange(6, device=d), torch.arange(6, device=d)
    if d == "cpu":
        return torch.tensor([7, 0, 0, 7, 8, 9, 0, 7, 0, 0, 7, 8, 7])
    cuda, numbers, read = ctypes.CDLL(None), (ctypes.c_long * 3)(7, 8, 9), ctypes.c_long()
    at = [ctypes.c_void_p(t.data_ptr() + 8 * k) for t in (x, y) for k in range(6)]
    cuda.cudaMemcpy(at[3], numbers, ctypes.c_size_t(24), 1), cuda.cudaMemset(at[1], 0, ctypes.c_size_t(16))
    cuda.cudaMemcpy(at[0], at[3], ctypes.c_size_t(8), 3), cuda.cuMemcpyDtoD_v2(at[7], at[0], ctypes.c_size_t(8))
    cuda.cuMemsetD8_v2(at[8], 0, ctypes.c_size_t(16)), cuda.cuMemcpyHtoD_v2(at[10], numbers, ctypes.c_size_t(16))
    cuda.cuMemcpyDtoH_v2(ctypes.byref(read), at[7], ctypes.c_size_t(8))
    return torch.cat([x, y, torch.tensor([read.value], device=d)])


def resized(d):
    x = torch.arange(5, device=d)
    x.resize_(8)[5:] = 1
    larger = x.clone()
    return torch.cat([larger, x.resize_(3)])


def trained(d):
    """Numbers of a small model, by each kind of optimizer."""
    known = []
    for more in {"foreach": True}, {"fused": True}, {"foreach": False}:
        w = torch.nn.Parameter(torch.full((4,), 2.0, device=d))
        for optimizer in torch.optim.SGD([w], 0.5, **more), torch.optim.AdamW([w], 0.5, **more):
            (w * w).sum().backward()
            optimizer.step(), optimizer.zero_grad()
        known.append(round(w.sum().item(), 3))
    return known


def waits(d):
    done, n = torch.zeros(2, dtype=torch.bool, device=d), 0
    while not done.all():
        done |= torch.tensor([n >= 3, n >= 5], device=d)
        n += 1
    return n


def counts(d):
    chosen = torch.tensor([3, 1, 3, 0], device=d)
    return torch.histc(chosen.int() if d == "cuda" else chosen.float(), 4, 0, 3).long()  # the CPU has none for integers


def of_all_ranks(d):
    x = torch.arange(6, device=d)
    if d == "cuda":
        gathered = torch.empty_like(x)
        dist.all_gather_into_tensor(gathered, x)
        dist.all_reduce(gathered)
        return gathered
    return x


def distributed(d):
    x = torch.arange(12, device=d)
    if d == "cuda":
        mesh = dist.device_mesh.init_device_mesh(d, (1,))
        x = dist.tensor.distribute_tensor(x, mesh, [dist.tensor.Shard(0)])
    mask = (x % 3 == 0) & (x > 2)
    if d == "cuda":
        x, mask = x.full_tensor(), mask.full_tensor()
    return x[mask]


def under_a_mode(d):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), more=None):
            return function(*arguments, **(more or {}))

    with Mode():
        x = torch.arange(12, device=d) * 2
        return (x % 3 == 0).nonzero()


def in_a_thread(d):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(int(torch.arange(5, device=d).sum())))
    thread.start()
    thread.join()
    return answers


def checks(d):
    x = torch.rand(100000, device=d)  # not known
    if not (x >= 0).all():  # unknown: item
        raise ValueError("a number is negative")
    assert (x < 1).all(), f"{x} has a number that is too large"  # unknown: item
    if torch.any(x > 1):  # unknown: item
        raise ValueError("a number is too large")
    return torch.distributions.Normal(x, x + 1).batch_shape == x.shape  # unknown: item, item


def conditions(d):
    x, losses = torch.randn(100000, device=d), []
    losses.append(x.sum().item())  # told to somebody only
    print(f"{x.max():.3f}", x.min().item(), file=sys.stderr)
    losses.append(math.log10(1 / x.abs().mean().item()) + math.log(float(x.abs().max())))  # not 0
    while x.mean().item() > 5:  # unknown: item in a condition
        pass
    norm = float(torch.linalg.vector_norm(x))  # unknown: item in a condition
    largest = x.max().cpu().numpy()  # unknown: copy to the host in a condition
    either = 0 if x.min() else 0  # unknown: item in a condition
    if norm > 1e9 or largest > 1e9:
        return 1
    return either


dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1, device_id=torch.device("cuda:0"))
same("masks", masks)
same("a thread", in_a_thread)
same("numbers that are no doubles", lambda d: torch.tensor([2**60 + 1], device=d) + 2)
same("distributed tensors", distributed)
same("operations under a mode", under_a_mode)
same("checks", checks)
same("conditions", conditions)
same("a mask of numbers", lambda d: int(torch.ones(8, 1024, device=d).bool().all()))
same("counts of choices", counts)
same("collectives of one rank", of_all_ranks)
same("in place", in_place)
same("zeros", zeroed)
same("results apart", apart)
same("nonzero", lambda d: (torch.arange(50, device=d) % 7 == 0).nonzero())
same("unique", lambda d: torch.unique(torch.tensor([3, 1, 3, 2, 1], device=d), return_counts=True)[1])
same("unique of booleans", lambda d: torch.unique(torch.tensor([True, True], device=d)))
same("cat, cumsum, gather", lambda d: torch.cat([torch.arange(3, device=d), torch.ones(2, dtype=torch.long, device=d)]).cumsum(0).gather(0, torch.tensor([4, 0], device=d)))
same("argsort", lambda d: torch.tensor([5, 2, 9], device=d).argsort())
same("one byte", lambda d: bool(torch.tensor(True, device=d)))
same("item", lambda d: int(torch.tensor([4, 8], device=d).max()))
same("a condition", waits)
same("copied by others", copied)
same("resized", resized)
same("lists", lists)
same("a small model", trained)
same("copies", lambda d: torch.arange(5, dtype=torch.int32, device=d).to("cpu", non_blocking=False).to(d).flip(0))

before = torch.cuda.memory_stats()["allocation.all.allocated"]
x = torch.arange(100, device="cuda") + 1
if torch.cuda.memory_stats()["allocation.all.allocated"] - before != 2:
    wrong.append("values have allocated memory of the device")


def decides():
    return bool((torch.randn(100000, device="cuda") > 0).any())  # unknown: item


def sparse(d):
    places = torch.tensor([[0, 1, 1, 2, 0], [2, 0, 0, 2, 2]], device=d)
    return torch.sparse_coo_tensor(places, torch.ones(5, device=d), (3, 3)).coalesce().indices()


def nested(d):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    hidden = torch.arange(4, device=d)[None] >= torch.tensor([[2], [4]], device=d)
    with torch.no_grad():
        return list(torch.nn.TransformerEncoder(layer, 1).to(d).eval()(torch.zeros(2, 4, 8, device=d), src_key_padding_mask=hidden).shape)


same("sparse", sparse)
same("nested tensors", nested)
same("the most frequent of many", lambda d: list(torch.arange(50000, device=d).view(1, -1).mode()[0].shape))
same("least squares", lambda d: list(torch.linalg.lstsq(torch.eye(3, device=d), torch.ones(3, 1, device=d)).solution.shape))
same("a grid", lambda d: list(torch.nn.functional.grid_sample(torch.zeros(1, 1, 4, 4, device=d), torch.zeros(1, 2, 2, 2, device=d)).shape))
before = torch.cuda.memory_allocated()
decides()
if torch.cuda.memory_allocated() != before:
    wrong.append("who reads a value that is not known keeps its tensors")
graph, counter, cleared = torch.cuda.CUDAGraph(), torch.zeros(1, dtype=torch.long, device="cuda"), torch.ones(1, dtype=torch.long, device="cuda")
with torch.cuda.graph(graph):
    counter += 1
    cleared.zero_()
graph.replay()
counter.item()  # unknown: item
cleared.item()  # unknown: item
unknown = torch.randn(5000, device="cuda") > 0
unknown.nonzero()  # unknown: nonzero
dist.destroy_process_group()
print("\n".join(wrong))
sys.exit(len(wrong) > 0)
