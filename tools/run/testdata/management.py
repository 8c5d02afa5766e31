"""What the management library tells of two L4s, and that asking it starts nothing of CUDA. Ends with 1 if it is wrong."""
import ctypes
import os

nvml, cuda = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.CDLL("libcuda.so.1")
UNINITIALIZED, INVALID, NOT_SUPPORTED, NOT_FOUND, TOO_SMALL = 1, 2, 3, 6, 7
count, handle, other, text, numbers = ctypes.c_uint(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(96), (ctypes.c_ulonglong * 5)()
major, minor, by = ctypes.c_int(), ctypes.c_int(), ctypes.byref


def same(got, want):
    assert got == want, f"{got}, not {want}"


same(nvml.nvmlDeviceGetCount_v2(by(count)), UNINITIALIZED)
same(nvml.nvmlInit_v2(), 0)
same((nvml.nvmlDeviceGetCount_v2(by(count)), count.value), (0, 2))
same(nvml.nvmlDeviceGetHandleByIndex_v2(2, by(handle)), INVALID)
same((nvml.nvmlDeviceGetHandleByIndex_v2(0, by(handle)), nvml.nvmlDeviceGetHandleByIndex_v2(1, by(other))), (0, 0))
same((nvml.nvmlDeviceGetName(handle, text, 96), text.value), (0, b"NVIDIA L4"))
same(nvml.nvmlDeviceGetName(handle, text, 5), TOO_SMALL)
same((nvml.nvmlDeviceGetCudaComputeCapability(handle, by(major), by(minor)), major.value, minor.value), (0, 8, 9))
same((nvml.nvmlDeviceGetMemoryInfo(handle, numbers), *numbers[:3]), (0, 20 << 30, 20 << 30, 0))
same((nvml.nvmlDeviceGetP2PStatus(handle, other, 2, by(major)), major.value), (0, 5))  # no links between two L4s
same((nvml.nvmlDeviceGetUUID(other, text, 96), text.value), (0, b"GPU-02000000-0000-0000-0000-000000000000"))
same((nvml.nvmlDeviceGetHandleByUUID(text, by(handle)), handle.value), (0, other.value))
same(nvml.nvmlDeviceGetHandleByUUID(b"GPU-03", by(handle)), NOT_FOUND)
same(nvml.nvmlDeviceGetSerial(other, text, 96), NOT_SUPPORTED)

child = os.fork()
if child == 0:  # that has forked after CUDA was started would get an error
    same((cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(by(handle), 0), cuda.cuCtxSetCurrent(handle)), (0, 0, 0))
    address = ctypes.c_void_p()
    same(cuda.cuMemAlloc_v2(by(address), 1 << 30), 0)
    same(nvml.nvmlDeviceGetHandleByIndex_v2(0, by(handle)), 0)
    same((nvml.nvmlDeviceGetMemoryInfo(handle, numbers), numbers[2] >= 1 << 30), (0, True))
    os._exit(0)
same(os.waitpid(child, 0)[1], 0)
same((nvml.nvmlShutdown(), nvml.nvmlShutdown(), nvml.nvmlDeviceGetCount_v2(by(count))), (0, UNINITIALIZED, UNINITIALIZED))
