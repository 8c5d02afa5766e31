// A caching allocator over virtual memory: a stream has a range of addresses, which grows by pages of 8 MiB
// and gives back those at its end. FAULT in the environment plants a fault.
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "fault.h"
#include "on_device.h"

static const size_t page = 8 << 20, most = size_t(64) << 30;

struct Range {
	CUdeviceptr at = 0;
	int device = 0;
	cudaStream_t stream = nullptr;
	std::vector<CUmemGenericAllocationHandle> pages;
	std::map<size_t, size_t> unused; // bytes, by where they begin
};
static std::map<std::pair<int, cudaStream_t>, Range> ranges;
static std::map<void *, std::pair<Range *, size_t>> used;

// put adds unused memory, and merges it with what is beside it.
static void put(Range &r, size_t at, size_t bytes) {
	auto here = r.unused.emplace(at, bytes).first;
	auto after = std::next(here);
	if (after != r.unused.end() && at + bytes == after->first) {
		here->second += after->second;
		r.unused.erase(after);
	}
	if (here == r.unused.begin()) return;
	auto before = std::prev(here);
	if (before->first + before->second != at) return;
	before->second += here->second;
	r.unused.erase(here);
}

static bool grow(Range &r) {
	CUmemAllocationProp p = {};
	p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p.location.id = r.device;
	CUmemGenericAllocationHandle handle = 0;
	const size_t end = r.pages.size() * page;
	if (end == most || cuMemCreate(&handle, page, &p, 0) != CUDA_SUCCESS) return false;
	if (cuMemMap(r.at + end, page, 0, handle, 0) != CUDA_SUCCESS) {
		if (!fault("loses_unmapped_page")) cuMemRelease(handle);
		return false;
	}
	CUmemAccessDesc access = {};
	access.location = p.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	if (cuMemSetAccess(r.at + end, page, &access, 1) != CUDA_SUCCESS && !fault("trusts_access")) {
		if (!fault("loses_page_without_access")) {
			cuMemUnmap(r.at + end, page);
			cuMemRelease(handle);
		}
		return false;
	}
	r.pages.push_back(handle);
	put(r, end, page);
	return true;
}

// shrink gives back the pages at the end that are unused.
static bool shrink(Range &r) {
	const size_t before = r.pages.size();
	OnDevice on(r.device);
	while (!r.unused.empty()) {
		auto last = std::prev(r.unused.end());
		const size_t end = r.pages.size() * page;
		if (last->first + last->second != end || last->second < page) break;
		if (r.pages.size() == before && !fault("shrinks_under_work")) cudaStreamSynchronize(r.stream);
		cuMemUnmap(r.at + end - page, page);
		cuMemRelease(r.pages.back());
		r.pages.pop_back();
		if ((last->second -= page) == 0) r.unused.erase(last);
	}
	return r.pages.size() < before;
}

// shrinkOthers does so for a request of a range; false: there is nothing to give.
static bool shrinkOthers(Range &r) {
	bool any = false;
	for (auto &other : ranges) {
		if (other.second.device == r.device && &other.second != &r && !fault("keeps_other_streams")) any = shrink(other.second) || any;
	}
	return any;
}

static void *take(Range &r, size_t size) {
	for (auto at = r.unused.begin(); at != r.unused.end(); ++at) {
		if (at->second < size) continue;
		const auto [begin, bytes] = *at;
		r.unused.erase(at);
		if (bytes > size) r.unused[begin + size] = bytes - size;
		void *ptr = (void *)(r.at + begin);
		used[ptr] = {&r, size};
		return ptr;
	}
	return nullptr;
}

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	OnDevice on(device);
	Range &r = ranges[{device, stream}];
	r.device = device, r.stream = stream;
	if (r.at == 0 && cuMemAddressReserve(&r.at, most, 0, 0, 0) != CUDA_SUCCESS) return nullptr;
	const size_t size = (size_t(bytes) + 511) / 512 * 512;
	for (;;) {
		void *ptr = take(r, size);
		if (ptr != nullptr || (!grow(r) && !(shrinkOthers(r) && grow(r)))) return ptr;
	}
}

extern "C" void my_free(void *ptr, ssize_t, int, cudaStream_t) {
	auto [r, size] = used.at(ptr);
	used.erase(ptr);
	put(*r, CUdeviceptr(ptr) - r->at, size);
}

extern "C" void my_empty_cache() {
	for (auto &r : ranges) shrink(r.second);
}
