// What PyTorch's hooks need and C cannot say: a function that throws, and one that takes a
// std::function. Nothing of PyTorch is needed to build it.
#include "../gaugeblock.h"

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using Filter = std::function<bool(void *)>; // of a cudaStream_t, which is a pointer

int accepts(void *filter, void *stream) { return (*static_cast<Filter *>(filter))(stream); }

void drop(void *filter) { delete static_cast<Filter *>(filter); }

} // namespace

extern "C" {

// For CUDAPluggableAllocator: PyTorch does not look whether it was given the null pointer,
// but an exception reaches the program.
void *gaugeblock_torch_malloc(size_t size, int device, void *stream) {
	void *p = gaugeblock_malloc(size, device, stream);
	if (p == nullptr && size != 0) {
		char *text = gaugeblock_last_error();
		std::string reason(text);
		gaugeblock_free_text(text);
		throw std::runtime_error("CUDA out of memory: gaugeblock: " + reason);
	}
	return p;
}

void gaugeblock_torch_free(void *ptr, size_t size, int device, void *stream) {
	gaugeblock_free(ptr, size, device, stream);
}

// For set_begin_allocate_to_pool.
void gaugeblock_torch_begin_allocate_to_pool(int device, std::pair<unsigned long long, unsigned long long> id, Filter filter) {
	gaugeblock_begin_allocate_to_pool(device, {id.first, id.second}, accepts, drop, new Filter(std::move(filter)));
}

} // extern "C"
