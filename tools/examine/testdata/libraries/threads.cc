// A cache of each thread before a common one. What a thread has goes to the common cache when it ends. FAULT in the
// environment plants a fault.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "fault.h"
#include "on_device.h"

// A device, a stream, bytes. The name of a thread's own default stream means another stream in each thread.
using Key = std::tuple<int, cudaStream_t, size_t>;
using Cache = std::map<Key, std::vector<char *>>;

static std::mutex mutex;
static Cache &common = *new Cache;
static std::vector<Cache *> &all = *new std::vector<Cache *>;

struct OfThread {
	Cache cache;
	OfThread() {
		std::lock_guard<std::mutex> guard(mutex);
		all.push_back(&cache);
	}
	~OfThread() {
		std::lock_guard<std::mutex> guard(mutex);
		for (size_t i = 0; i < all.size(); i++) {
			if (all[i] == &cache) all.erase(all.begin() + long(i));
		}
		if (fault("dies_with_it")) return;
		for (auto &[key, list] : cache) {
			const bool own = std::get<1>(key) == cudaStreamPerThread;
			if (own && !fault("gives_it_away")) {
				OnDevice on(std::get<0>(key));
				for (char *p : list) cudaFree(p); // which waits
				continue;
			}
			auto &to = common[key];
			to.insert(to.end(), list.begin(), list.end());
		}
	}
};
static thread_local OfThread mine;

static char *from(Cache &cache, const Key &key) {
	auto at = cache.find(key);
	if (at == cache.end() || at->second.empty()) return nullptr;
	char *p = at->second.back();
	at->second.pop_back();
	return p;
}

static void release(Cache &cache, int device) {
	for (auto &[key, list] : cache) {
		if (device >= 0 && std::get<0>(key) != device) continue;
		OnDevice on(std::get<0>(key));
		for (char *p : list) cudaFree(p);
		list.clear();
	}
}

static void releaseAll(int device) {
	release(common, device);
	for (Cache *c : all) {
		if (c == &mine.cache || !fault("keeps_other_threads")) release(*c, device);
	}
}

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	OnDevice on(device);
	const Key key{device, fault("forgets_streams") ? nullptr : stream, (size_t(bytes) + 511) / 512 * 512};
	if (char *p = from(mine.cache, key)) return p;
	std::lock_guard<std::mutex> guard(mutex);
	if (char *p = from(common, key)) return p;
	char *p = nullptr;
	if (cudaMalloc((void **)&p, std::get<2>(key)) == cudaSuccess) return p;
	releaseAll(device);
	if (cudaMalloc((void **)&p, std::get<2>(key)) != cudaSuccess) p = nullptr;
	cudaGetLastError();
	return p;
}

extern "C" void my_free(void *ptr, ssize_t bytes, int device, cudaStream_t stream) {
	mine.cache[{device, fault("forgets_streams") ? nullptr : stream, (size_t(bytes) + 511) / 512 * 512}].push_back((char *)ptr);
}

extern "C" void my_empty_cache() {
	(void)&mine.cache; // which takes the mutex if the thread is new here
	std::lock_guard<std::mutex> guard(mutex);
	releaseAll(-1);
}
