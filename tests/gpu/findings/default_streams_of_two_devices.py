"""Silent corruption: record_stream() with the default stream of another device is without effect.

Streams are compared by handle, and all default streams have the handle 0. A kernel on the second device reads x
through peer access, as extensions and symmetric memory do. Needs two GPUs with peer access. y must hold ones.
"""
import sys

import torch

if torch.cuda.device_count() < 2 or not torch.cuda.can_device_access_peer(1, 0):
    print("needs two GPUs with peer access")
    sys.exit(2)
N = 64 << 20
SOURCE = """extern "C" __global__ void copy(unsigned char *y, const unsigned char *x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i];
}"""
for to, of in (("cuda:0", "cuda:1"), ("cuda:1", "cuda:0")):  # sets up peer access
    torch.zeros(1, device=to).copy_(torch.zeros(1, device=of))
with torch.cuda.device(1):
    copy = torch.cuda._compile_kernel(SOURCE, "copy")


def run(name, stream):
    torch.cuda.synchronize(0), torch.cuda.synchronize(1)
    torch.cuda.empty_cache()
    y = torch.zeros(N, dtype=torch.uint8, device="cuda:1")
    x = torch.ones(N, dtype=torch.uint8, device="cuda:0")
    address = x.data_ptr()
    torch.cuda.synchronize(0), torch.cuda.synchronize(1)
    with torch.cuda.device(1), torch.cuda.stream(stream):
        torch.cuda._sleep(2_000_000_000)
        copy((1024, 1, 1), (256, 1, 1), (y, x, N))
    x.record_stream(stream)
    del x
    z = torch.empty(N, dtype=torch.uint8, device="cuda:0")
    reused, busy = z.data_ptr() == address, not stream.query()
    z.fill_(2)
    torch.cuda.synchronize(0), torch.cuda.synchronize(1)
    print(f"{name}: x's address reused {reused}, other stream busy {busy}, y holds {y.unique().tolist()}")
    return y.unique().tolist() != [1]


assert not run("a stream of device 1", torch.cuda.Stream(1))
sys.exit(1 if run("the default stream of device 1", torch.cuda.default_stream(1)) else 0)
