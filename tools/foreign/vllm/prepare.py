"""What vllm/device_allocator/cumem.py asks of PyTorch and of the rest of vLLM, and its
allocator, begun."""
import logging
import sys
import types

import cumem_allocator
import gaugeblock_cuda


def module(name, **names):
    m = sys.modules[name] = types.ModuleType(name)
    m.__path__ = []
    m.__dict__.update(names)
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, m)
    return m


module("torch", Tensor=object)
module("torch.cuda", synchronize=gaugeblock_cuda.synchronize)
module("torch.cuda.memory", CUDAPluggableAllocator=object, MemPool=object)
module("vllm")
sys.modules["vllm.cumem_allocator"] = cumem_allocator
module("vllm.logger", init_logger=lambda name: logging.getLogger(name))
module("vllm.utils")
module("vllm.utils.platform_utils", is_pin_memory_available=lambda: True)
module("vllm.utils.system_utils", find_loaded_library=lambda name: name)
module("vllm.distributed")
module("vllm.distributed.device_communicators")
module("vllm.distributed.device_communicators.cuda_wrapper", CudaRTLibrary=object)

import cumem  # noqa: E402: vLLM's, which build.sh has put beside this file

allocator = cumem.CuMemAllocator.get_instance()
cumem_allocator.init_module(allocator.python_malloc_callback, allocator.python_free_callback)
