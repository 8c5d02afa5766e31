// A cache by size classes, powers of two. What is freed carries an event, and goes to any stream of the device, which
// waits for it. MEMORY is 1 for pinned, 2 for managed memory. FAULT in the environment plants a fault.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "fault.h"
#include "on_device.h"

#ifndef MEMORY
#define MEMORY 0
#endif

struct Block {
	char *at; // what the driver has given
	int device;
	int order; // of two
	cudaStream_t stream;
	cudaEvent_t freed;
};
// Handles of streams that are destroyed come again, and threads call their own by one name: then it waits always.
static const bool waitsAlways = std::getenv("WAITS") != nullptr;
static std::map<std::pair<int, int>, std::vector<Block>> unused; // by device and order
static std::map<void *, Block> used;
static std::map<int, std::vector<cudaEvent_t>> events; // of each device, that are free

static int orderOf(size_t bytes) {
	if (fault("order_of_int") && bytes >= size_t(1) << 31) bytes = size_t(int(bytes)) & 0x7fffffff;
	if (fault("order_of_unsigned")) bytes = unsigned(bytes);
	if (fault("rounds_down") && bytes > 1 << 20) bytes -= bytes >> 3; // an eighth may not be there
	int order = 9;
	while (order < 62 && (size_t(1) << order) < bytes) order++;
	return order;
}

static cudaEvent_t event(int device) {
	auto &list = events[fault("events_of_any_device") ? 0 : device];
	cudaEvent_t e = nullptr;
	if (list.empty()) return cudaEventCreateWithFlags(&e, cudaEventDisableTiming) == cudaSuccess ? e : nullptr;
	e = list.back();
	list.pop_back();
	return e;
}

static char *ask(size_t bytes) {
	void *p = nullptr;
	cudaError_t r = MEMORY == 1 ? cudaMallocHost(&p, bytes) : MEMORY == 2 ? cudaMallocManaged(&p, bytes, cudaMemAttachGlobal) : cudaMalloc(&p, bytes);
	cudaGetLastError();
	return r == cudaSuccess ? (char *)p : nullptr;
}

static void release(int device) {
	for (auto &[key, list] : unused) {
		if (device >= 0 && key.first != device && MEMORY == 0) continue;
		OnDevice on(key.first);
		for (Block &b : list) {
			events[key.first].push_back(b.freed);
			if (MEMORY == 1) cudaFreeHost(b.at);
			else cudaFree(b.at);
		}
		list.clear();
	}
}

static void *allocate(ssize_t bytes, size_t align, int device, cudaStream_t stream) {
	OnDevice on(device);
	const int order = orderOf(size_t(bytes) + (align > 256 && !fault("aligns_within") ? align : 0));
	auto &list = unused[{device, order}];
	Block b{nullptr, device, order, stream, nullptr};
	if (!list.empty()) {
		Block found = list.back();
		list.pop_back();
		b.at = found.at;
		if (found.stream != stream || waitsAlways) {
			if (!fault("waits_on_default")) cudaStreamWaitEvent(stream, found.freed, 0);
			else cudaStreamWaitEvent(nullptr, found.freed, 0);
		}
		events[device].push_back(found.freed);
	} else if ((b.at = ask(size_t(1) << order)) == nullptr) {
		release(device);
		if ((b.at = ask(size_t(1) << order)) == nullptr) return nullptr;
	}
	char *p = align > 256 ? (char *)((size_t(b.at) + align - 1) / align * align) : b.at;
	used[p] = b;
	return p;
}

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) { return allocate(bytes, 1, device, stream); }

extern "C" void *my_malloc_aligned(ssize_t bytes, size_t align, int device, cudaStream_t stream) {
	return allocate(bytes, align, device, stream);
}

extern "C" void my_free(void *ptr, ssize_t, int device, cudaStream_t stream) {
	Block b = used.at(ptr);
	used.erase(ptr);
	int current = 0;
	cudaGetDevice(&current);
	const int to = fault("current_device") ? current : device;
	OnDevice on(fault("events_of_any_device") ? current : device);
	if (fault("keeps_aligned")) b.at = (char *)ptr;
	b.stream = stream;
	b.freed = event(device);
	static std::map<int, cudaEvent_t> shared; // by order
	if (fault("one_event_an_order")) b.freed = shared.emplace(b.order, b.freed).first->second;
	if (!fault("marks_nothing")) cudaEventRecord(b.freed, stream);
	cudaGetLastError();
	unused[{to, b.order}].push_back(b);
}

extern "C" void my_empty_cache() { release(-1); }
