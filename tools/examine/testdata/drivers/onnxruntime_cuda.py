# ONNX Runtime: the arena of its CUDA allocator, which knows no streams: the host has waited before a free. It keeps
# what it has, and has no function that empties it. LD_LIBRARY_PATH=build/fake-cuda has the libraries above CUDA.
# gaugeblock examine --python onnxruntime_cuda.py
import onnxruntime

onnxruntime.set_default_logger_severity(4)
contract = "waited"
live = {}


def malloc(size, device, stream):
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type([size], "uint8", "cuda", device)
    live[value.data_ptr()] = value
    return value.data_ptr()


def free(pointer, size, device, stream):
    del live[pointer]
