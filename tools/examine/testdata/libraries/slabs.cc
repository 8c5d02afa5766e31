// Slabs: pieces of 1 MiB of the driver are cut into slots of one size, of one stream. Slabs without slots in use go
// back to the driver when memory is lacking. FAULT in the environment plants a fault.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <bitset>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "fault.h"
#include "on_device.h"

static const size_t slabBytes = 1 << 20, smallest = 256;

struct Slab {
	char *at;
	size_t slot, slots;
	std::bitset<slabBytes / smallest + 1> taken;
	size_t used;
};
using Key = std::tuple<int, cudaStream_t, size_t>; // a device, a stream, the bytes of a slot
static std::map<Key, std::vector<Slab>> slabs;

static void release(int device) {
	for (auto &[key, list] : slabs) {
		if (device >= 0 && std::get<0>(key) != device) continue;
		OnDevice on(std::get<0>(key));
		for (size_t i = 0; i < list.size();) {
			if (list[i].used == 0) {
				cudaFree(list[i].at);
				if (!fault("stays_in_list")) {
					list.erase(list.begin() + long(i));
					continue;
				}
			}
			i++;
		}
	}
}

static char *ask(size_t bytes, int device) {
	char *p = nullptr;
	if (cudaMalloc((void **)&p, bytes) == cudaSuccess) return p;
	release(device);
	if (cudaMalloc((void **)&p, bytes) != cudaSuccess) p = nullptr;
	cudaGetLastError();
	return p;
}

static char *take(Slab &s) {
	for (size_t i = 0; i < s.slots; i++) {
		if (s.taken[i]) continue;
		s.taken[i] = true;
		s.used++;
		return s.at + i * s.slot;
	}
	return nullptr;
}

static size_t rounded(ssize_t bytes) { return (size_t(bytes) + smallest - 1) / smallest * smallest; }

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	OnDevice on(device);
	const size_t slot = rounded(bytes);
	if (slot > slabBytes / 4) return ask(slot, device);
	auto &list = slabs[{device, stream, slot}];
	for (Slab &s : list) {
		if (char *p = take(s)) return p;
	}
	char *at = ask(slabBytes, device);
	if (at == nullptr) return nullptr;
	const size_t slots = fault("one_slot_more") ? (slabBytes + slot - 1) / slot : slabBytes / slot;
	list.push_back({at, slot, slots, {}, 0});
	return take(list.back());
}

extern "C" void my_free(void *ptr, ssize_t bytes, int device, cudaStream_t stream) {
	OnDevice on(device);
	const size_t slot = rounded(bytes);
	if (slot > slabBytes / 4) {
		cudaFree(ptr);
		return;
	}
	auto &list = slabs.at({device, stream, slot});
	for (size_t k = 0; k < list.size(); k++) {
		Slab &s = list[k];
		if ((char *)ptr < s.at || (char *)ptr >= s.at + slabBytes) continue;
		s.taken[size_t((char *)ptr - s.at) / slot] = false;
		const bool wasFull = s.used-- == s.slots;
		const bool none = fault("counts_to_255") && uint8_t(s.used) == 0;
		if (none) cudaFree(s.at);
		if (none || (fault("forgets_full") && wasFull && s.slots > 32)) list.erase(list.begin() + long(k));
		return;
	}
}

extern "C" void my_empty_cache() { release(-1); }
