// A caching allocator with record_stream: memory that other streams have used is kept back
// until events behind their work are complete. FAULT in the environment plants a fault.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "fault.h"

using Key = std::tuple<int, cudaStream_t, size_t>;
struct Pending {
	Key key;
	void *ptr;
	std::vector<cudaEvent_t> events;
};
static std::mutex mutex;
static std::map<Key, std::vector<void *>> cache;
static std::map<void *, std::set<cudaStream_t>> uses;
static std::list<Pending> pending;

// complete makes pending memory free whose events are complete, or waits for them.
static void complete(bool wait) {
	for (auto p = pending.begin(); p != pending.end();) {
		bool done = true;
		for (cudaEvent_t e : p->events) {
			if (wait) cudaEventSynchronize(e);
			if (fault("queries_first_only") && e != p->events[0]) continue;
			done = done && (wait || cudaEventQuery(e) == cudaSuccess);
		}
		if (!done) {
			++p;
			continue;
		}
		for (cudaEvent_t e : p->events) cudaEventDestroy(e);
		cache[p->key].push_back(p->ptr);
		p = pending.erase(p);
	}
}

static void empty() {
	complete(true);
	for (auto &c : cache) {
		for (void *ptr : c.second) cudaFree(ptr);
	}
	cache.clear();
}

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t stream) {
	std::lock_guard<std::mutex> guard(mutex);
	complete(false);
	size_t bytes = (size_t(size) + 511) / 512 * 512;
	auto &free = cache[{device, stream, bytes}];
	if (!free.empty()) {
		void *ptr = free.back();
		free.pop_back();
		return ptr;
	}
	void *ptr = nullptr;
	if (cudaMalloc(&ptr, bytes) == cudaSuccess) return ptr;
	cudaGetLastError(); // it is dealt with
	empty();
	return cudaMalloc(&ptr, bytes) == cudaSuccess ? ptr : nullptr;
}

extern "C" void my_free(void *ptr, ssize_t size, int device, cudaStream_t stream) {
	std::lock_guard<std::mutex> guard(mutex);
	Pending p = {{device, stream, (size_t(size) + 511) / 512 * 512}, ptr, {}};
	int before = 0;
	cudaGetDevice(&before);
	for (cudaStream_t s : uses[ptr]) {
		if (s == stream || fault("forgets_uses") || (fault("forgets_one") && !p.events.empty())) continue;
		cudaEvent_t e;
		cudaSetDevice(device); // a use is by a stream of the memory's device
		cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
		cudaEventRecord(e, s);
		p.events.push_back(e);
	}
	cudaSetDevice(before);
	uses.erase(ptr);
	pending.push_back(p);
}

extern "C" void my_record_stream(void *ptr, cudaStream_t stream) {
	std::lock_guard<std::mutex> guard(mutex);
	uses[ptr].insert(stream);
}

extern "C" void my_empty_cache() {
	std::lock_guard<std::mutex> guard(mutex);
	empty();
}
