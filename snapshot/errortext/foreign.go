package errortext

import "regexp"

// foreign are errors about memory that are not of PyTorch's allocator on the device, as their
// programs word them in squeezed texts.
var foreign = []struct {
	find *regexp.Regexp
	what string
}{
	{regexp.MustCompile(`Freememoryondevice.{0,60}onstartupislessthan`), "vLLM's: less of the device is free than gpu_memory_utilization asks for, before anything is loaded. Other processes have the rest"},
	{regexp.MustCompile(`Noavailablememoryforthecacheblocks|KVcacheisneeded,whichislargerthan`), "vLLM's: what gpu_memory_utilization leaves beside the weights and a trial run is too little for its cache. No request of PyTorch failed"},
	{regexp.MustCompile(`outofmemoryoccurredwhenwarmingup`), "vLLM's, in the place of PyTorch's: the log may have PyTorch's, with sizes, further up"},
	{regexp.MustCompile(`Notenoughmemory\.Pleasetrytoincrease--mem-fraction-static`), "SGLang's: what --mem-fraction-static leaves beside the weights is too little for its cache. No request of PyTorch failed"},
	{regexp.MustCompile(`alloc_(?:req|token)_slotsrunsoutofmemory|(?:Prefill|Decode)outofmemory\.Trytolower|KVcachepoolisfull`), "SGLang's: its own pool of requests or of tokens is full. No request of PyTorch failed"},
	{regexp.MustCompile(`RMMfailureat|RMM_ERROR_OUT_OF_MEMORY|rmm/mr/`), "RMM's, which has pools of its own (also where PyTorch takes its memory from it)"},
	{regexp.MustCompile(`RESOURCE_EXHAUSTED|Resourceexhausted:Outofmemory|stream_executor/.{0,200}CUDA_ERROR_OUT_OF_MEMORY`), "XLA's (JAX, TensorFlow), which has an allocator of its own"},
	{regexp.MustCompile(`OOMwhenallocatingtensorwithshape`), "TensorFlow's, which has an allocator of its own"},
	{regexp.MustCompile(`OutofmemoryerroronGPU`), "PaddlePaddle's, which has an allocator of its own"},
	{regexp.MustCompile(`cupy\.cuda\.memory\.OutOfMemoryError|cupy_backends\..{0,80}cudaErrorMemoryAllocation`), "CuPy's, which has a pool of its own"},
	{regexp.MustCompile(`ggml_\w+:.{0,160}(?:outofmemory|failedtoallocate|OutOfDeviceMemory|allocationofsize\d+failed)|ggml-cuda`), "llama.cpp's, which takes its memory from the driver, or from the host"},
	{regexp.MustCompile(`numba\.cuda.{0,200}CUDA_ERROR_OUT_OF_MEMORY|cuMemAllocresultsinCUDA_ERROR_OUT_OF_MEMORY`), "Numba's, which takes its memory from the driver"},
	{regexp.MustCompile(`OutOfMemory\(Requestedsizewas\d+bytes`), "TensorRT's, which takes its memory from the driver"},
	{regexp.MustCompile(`UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY|UR_RESULT_ERROR_OUT_OF_RESOURCES|PI_ERROR_OUT_OF_RESOURCES`), "one of XPU's driver, and has no sizes"},
	{regexp.MustCompile(`CUBLAS_STATUS_NOT_INITIALIZEDwhencalling`), "cuBLAS's: it could not make its handle, often because the allocator has left too little of the device to others. The text has no sizes"},
	{regexp.MustCompile(`BFCArena::|bfc_arena`), "ONNX Runtime's, which has an arena of its own"},
	{regexp.MustCompile(`outofresource:sharedmemory`), "Triton's: a kernel needs more shared memory than a multiprocessor has. The memory of the device is not what is short"},
	{regexp.MustCompile(`DefaultCPUAllocator:`), "of the host's memory, not of the device's"},
	{regexp.MustCompile(`cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|CUDAfailedwitherroroutofmemory|[Ee]rroroutofmemoryatline\d`), "one of a call of CUDA that is none of PyTorch's allocator"},
	{regexp.MustCompile(`oom-kill|OOMKilled|oom_kill|Outofmemory:Killedprocess`), "of the host's memory: the system has ended the process"},
}

// ofOthers are texts of programs that are not PyTorch's, in which a call of CUDA fails.
var ofOthers = regexp.MustCompile(`ggml[-_]cuda|faiss::gpu|ctranslate2`)

var withoutSizes = regexp.MustCompile(`(?:CUDA|HIP|XPU|NPU|MPSbackend)outofmemory|torch\.(?:cuda\.)?OutOfMemoryError`)

// NoError says of a text in which FindAll finds nothing what it has in place of PyTorch's error;
// "" if nothing is known.
func NoError(text string) string {
	squeezed := squeeze(text)
	for _, f := range foreign {
		if f.find.MatchString(squeezed) {
			return "the error about memory in this text is " + f.what
		}
	}
	switch {
	case withoutSizes.MatchString(squeezed):
		return "nothing follows from the out-of-memory error of PyTorch in this text, for its sizes (\"Tried to allocate ...\") are missing, or mixed with those of another process"
	case rows.MatchString(text):
		return "this text has a table of memory_summary in part; needed are its first line, with the device, and the rows down to \"GPU reserved memory\""
	}
	return ""
}
