// Buddies: chunks of the driver, of 4 MiB or of CHUNK bytes, are cut into halves, and halves of one stream are merged again. FAULT in the
// environment plants a fault.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "fault.h"
#include "on_device.h"

static const size_t smallest = 512;
static const size_t chunkBytes = std::getenv("CHUNK") != nullptr ? std::strtoul(std::getenv("CHUNK"), nullptr, 10) : 4 << 20;

using Key = std::pair<int, cudaStream_t>;
struct Tree {
	std::map<char *, size_t> chunks;           // their bytes
	std::map<size_t, std::set<char *>> unused; // by their bytes
};
static std::map<Key, Tree> trees;
static std::map<void *, size_t> used;

static size_t rounded(size_t bytes) {
	if (fault("rounds_to_8_pages") && bytes > 64 << 10) return (bytes + (64 << 10) - 1) >> 16 << 16;
	int order = 9;
	while ((size_t(1) << order) < bytes) order++;
	return fault("shifts_an_int") ? size_t(1u << (order & 31)) : size_t(1) << order;
}

static void release(int device) {
	for (auto &[key, t] : trees) {
		if (device >= 0 && key.first != device) continue;
		OnDevice on(key.first);
		for (auto c = t.chunks.begin(); c != t.chunks.end();) {
			if (t.unused[c->second].erase(c->first) == 0) {
				++c;
				continue;
			}
			cudaFree(c->first);
			c = t.chunks.erase(c);
		}
	}
}

static bool grow(Tree &t, size_t bytes, int device) {
	const size_t chunk = bytes > chunkBytes ? bytes : chunkBytes;
	char *p = nullptr;
	if (cudaMalloc((void **)&p, chunk) != cudaSuccess) {
		release(device);
		if (cudaMalloc((void **)&p, chunk) != cudaSuccess) p = nullptr;
		cudaGetLastError();
	}
	if (p == nullptr) return false;
	t.chunks[p] = chunk;
	t.unused[chunk].insert(p);
	return true;
}

static char *take(Tree &t, size_t bytes) {
	for (auto &[size, list] : t.unused) {
		if (size < bytes || list.empty()) continue;
		char *p = *list.begin();
		list.erase(list.begin());
		for (size_t half = size / 2; half >= bytes; half /= 2) t.unused[half].insert(p + half);
		size_t rest = size;
		while (rest / 2 >= bytes) rest /= 2;
		used[p] = rest;
		return p;
	}
	return nullptr;
}

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	OnDevice on(device);
	Tree &t = trees[{device, stream}];
	const size_t size = rounded(size_t(bytes));
	if (char *p = take(t, size)) return p;
	return grow(t, size, device) ? take(t, size) : nullptr;
}

// buddyOf is the other half; nullptr: it is a whole chunk.
static char *buddyOf(Tree &t, char *p, size_t size) {
	auto c = std::prev(t.chunks.upper_bound(p));
	if (c->second == size && !fault("merges_chunks")) return nullptr;
	if (fault("merges_chunks") && size >= chunkBytes) return p + size;
	const size_t at = fault("by_address") ? size_t(p) : size_t(p - c->first);
	return fault("always_the_right") ? p + size : at & size ? p - size : p + size;
}

extern "C" void my_free(void *ptr, ssize_t, int device, cudaStream_t stream) {
	Tree &t = trees.at({device, stream});
	char *p = (char *)ptr;
	size_t size = used.at(ptr);
	used.erase(ptr);
	for (char *b = buddyOf(t, p, size); b != nullptr && t.unused[size].erase(b) > 0; b = buddyOf(t, p, size)) {
		if (b < p) p = b;
		size *= 2;
	}
	t.unused[size].insert(p);
}

extern "C" void my_empty_cache() { release(-1); }
