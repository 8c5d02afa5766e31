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
	{regexp.MustCompile(`RESOURCE_EXHAUSTED`), "XLA's (JAX, TensorFlow), which has an allocator of its own"},
	{regexp.MustCompile(`OOMwhenallocatingtensorwithshape`), "TensorFlow's, which has an allocator of its own"},
	{regexp.MustCompile(`OutofmemoryerroronGPU`), "PaddlePaddle's, which has an allocator of its own"},
	{regexp.MustCompile(`cupy\.cuda\.memory\.OutOfMemoryError`), "CuPy's, which has a pool of its own"},
	{regexp.MustCompile(`ggml_\w+:.{0,120}outofmemory`), "llama.cpp's, which has no caching allocator"},
	{regexp.MustCompile(`BFCArena::|bfc_arena`), "ONNX Runtime's, which has an arena of its own"},
	{regexp.MustCompile(`outofresource:sharedmemory`), "Triton's: a kernel needs more shared memory than a multiprocessor has. The memory of the device is not what is short"},
	{regexp.MustCompile(`DefaultCPUAllocator:`), "of the host's memory, not of the device's"},
	{regexp.MustCompile(`oom-kill|OOMKilled|oom_kill|Outofmemory:Killedprocess`), "of the host's memory: the system has ended the process"},
}

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
