# Packages of the index on the fake GPU's libraries: whether each is imported, allocates, frees, and says that
# memory is out as it does on a GPU.
#
#   make fake-cuda
#   LD_LIBRARY_PATH=build/fake-cuda GAUGEBLOCK_CUDA_GPU=h200 python tools/foreign/python/programs.py [NAME...]
#
# prints a line for each; every one runs in a process of its own. The packages are those that pip has installed.
import os
import subprocess
import sys

GIB = 1 << 30


def cuda_core(step):
    from cuda.core import Device, DeviceMemoryResource

    step("import")
    device = Device()
    device.set_current()
    resource, stream = DeviceMemoryResource(device), device.create_stream()
    buffer = resource.allocate(1 << 20, stream=stream)
    step("allocate")
    buffer.close(stream)
    stream.sync()
    step("free")
    held = [resource.allocate(100 * GIB, stream=stream)]
    held.append(resource.allocate(100 * GIB, stream=stream))


def numba(step):
    import numpy
    from numba import cuda

    step("import")
    array = cuda.to_device(numpy.arange(1000))
    assert array.copy_to_host()[999] == 999
    step("allocate")
    del array
    cuda.current_context().deallocations.clear()
    step("free")
    held = [cuda.device_array(100 * GIB, dtype="u1") for _ in range(2)]


def cupy(step):
    import cupy

    step("import")
    pool = cupy.cuda.MemoryPool()
    memory = pool.malloc(1 << 20)
    step("allocate")
    del memory
    pool.free_all_blocks()
    step("free")
    held = [pool.malloc(100 * GIB) for _ in range(2)]


def rmm(step):
    import rmm

    step("import")
    resource = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=1 << 20)
    rmm.mr.set_current_device_resource(resource)
    buffer = rmm.DeviceBuffer(size=1 << 20)
    step("allocate")
    del buffer
    step("free")
    held = [rmm.DeviceBuffer(size=100 * GIB) for _ in range(2)]


def warp(step):
    import warp

    warp.config.quiet = True
    warp.init()
    step("import")
    array = warp.empty(1 << 20, dtype=warp.uint8, device="cuda:0")
    step("allocate")
    del array
    warp.synchronize()
    step("free")
    held = [warp.empty((100, GIB), dtype=warp.uint8, device="cuda:0") for _ in range(2)]


def taichi(step):
    import taichi

    taichi.init(arch=taichi.cuda, device_memory_GB=1, log_level=taichi.ERROR)
    step("import")
    assert taichi.cfg.arch == taichi.cuda, "it took the processor"
    array = taichi.ndarray(taichi.u8, shape=(1 << 20,))
    step("allocate")
    del array
    taichi.sync()
    step("free")
    held = [taichi.ndarray(taichi.u8, shape=(GIB - 1,)) for _ in range(200)]  # its sizes have 31 bits


def tinygrad(step):
    os.environ["DEV"] = "CUDA"
    from tinygrad.device import Buffer, Device
    from tinygrad.dtype import dtypes

    Device["CUDA"]
    step("import")
    buffer = Buffer("CUDA", 1 << 20, dtypes.uint8).allocate()
    step("allocate")
    buffer.deallocate()
    Device["CUDA"].synchronize()
    Device["CUDA"].allocator.free_cache()
    step("free")
    held = [Buffer("CUDA", 100 * GIB, dtypes.uint8).allocate() for _ in range(2)]


def jax(step):
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ["GAUGEBLOCK_CUDA_MEMORY"] = "2GiB"  # what is put there is copied
    from jax._src import hardware_utils

    hardware_utils.has_visible_nvidia_gpu = lambda: True
    import jax
    import numpy

    device = jax.devices("gpu")[0]
    step("import")
    array = jax.device_put(numpy.arange(1000), device)
    array.block_until_ready()
    step("allocate")
    del array
    step("free")
    held = [jax.device_put(numpy.zeros(GIB, "u1"), device) for _ in range(3)]


def onnxruntime(step):
    import numpy
    import onnxruntime

    step("import")
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type([1 << 20], "uint8", "cuda", 0)
    step("allocate")
    del value
    step("free")
    held = [onnxruntime.OrtValue.ortvalue_from_shape_and_type([100 * GIB], "uint8", "cuda", 0) for _ in range(2)]


ALL = [cuda_core, cupy, jax, numba, onnxruntime, rmm, taichi, tinygrad, warp]


def main(names):
    print(f"{'package':12} imported  allocates  frees  out of memory")
    for program in ALL:
        if names and program.__name__ not in names:
            continue
        try:
            run = subprocess.run([sys.executable, __file__, "--one", program.__name__], capture_output=True, text=True, timeout=300)
            output = run.stdout + run.stderr
        except subprocess.TimeoutExpired as late:
            run, output = None, (late.stdout or b"").decode() + (late.stderr or b"").decode() + "\nit did not end within five minutes"
        done = [s for s in ("import", "allocate", "free") if f"step {s}\n" in output]
        lines = [l for l in output.splitlines() if l.strip() and not l.startswith(("step ", "fake CUDA: 0"))]
        last = next((l[5:] for l in lines if l.startswith("end: ")), lines[-1] if lines else "")
        words = ["yes" if s in done else "no" for s in ("import", "allocate", "free")]
        print(f"{program.__name__:12} {words[0]:9} {words[1]:10} {words[2]:6} {last[:160]}", flush=True)


def one(name):
    def step(what):
        print("step", what, flush=True)

    try:
        dict((p.__name__, p) for p in ALL)[name](step)
        print("end: nothing failed", flush=True)
    except BaseException as error:
        print("end:", type(error).__name__ + ":", str(error).splitlines()[0] if str(error) else "", flush=True)


if __name__ == "__main__":
    one(sys.argv[2]) if sys.argv[1:2] == ["--one"] else main(sys.argv[1:])
