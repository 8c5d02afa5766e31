// A caching allocator that cuts and merges: segments of the driver are cut into blocks, a free block
// of the same stream serves a request, and where it is built with STEALS also one of another stream, for
// whose work the request's stream then waits. RECORDS: with record_stream; IN_PLACE: memory is resized,
// requests name alignments, and the allocator ends. FAULT in the environment plants a fault.
#include <cuda_runtime.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "fault.h"

#ifdef STEALS
static const bool steals = true;
#else
static const bool steals = false;
#endif

struct Block {
	char *ptr;
	size_t size;
	int device;
	cudaStream_t stream;
	Block *before, *after; // its neighbours in the segment
	bool used;
	cudaEvent_t event; // behind the work before it was freed, with STEALS
	std::set<std::pair<cudaStream_t, int>> others; // streams, and their devices, that have used it
	std::vector<cudaEvent_t> pending;
};

static std::mutex mutex;
static std::vector<Block *> unused, waiting;
static std::map<void *, Block *> used;
static bool stuck; // an error that stays
static std::map<int, char *> first; // segment of a device

struct OnDevice {
	int before = 0;
	explicit OnDevice(int device) {
		cudaGetDevice(&before);
		if (!fault("trusts_device")) cudaSetDevice(device);
	}
	~OnDevice() {
		if (!fault("leaves_device")) cudaSetDevice(before);
	}
};

static size_t rounded(size_t size) {
	if (fault("truncates")) size = (unsigned)size;
	if (fault("misaligns")) return (size + 63) / 64 * 64;
	if (fault("rounds_down") && size > 1 << 20) return size / 512 * 512;
	if (fault("forgets_size") && size == 2 << 20) return 1 << 20;
	return size == 0 ? 512 : (size + 511) / 512 * 512;
}

static size_t ofDriver(size_t size) { return size <= 1 << 20 ? 2 << 20 : (size + (2 << 20) - 1) >> 21 << 21; }

static void erase(std::vector<Block *> &list, Block *b) {
	for (size_t i = 0; i < list.size(); i++) {
		if (list[i] == b) {
			list.erase(list.begin() + long(i));
			return;
		}
	}
}

static cudaEvent_t mark(cudaStream_t stream, int device) {
	OnDevice on(device);
	cudaEvent_t e = nullptr;
	cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
	cudaEventRecord(e, fault("wrong_stream") ? nullptr : stream);
	return e;
}

static bool idle; // the host has waited for everything

static bool sameOwner(Block *a, Block *b) { return idle || fault("merges_streams") || a->stream == b->stream; }

// merge gives a block the memory of its neighbour behind it, which is unused.
static void merge(Block *b) {
	Block *n = b->after;
	if (!fault("counts_twice")) erase(unused, n);
	b->size += n->size;
	b->after = n->after;
	if (n->after != nullptr) n->after->before = b;
	if (b->event != nullptr && n->event != nullptr) {
		OnDevice on(b->device); // the marks are of one stream: one behind both is enough
		if (!fault("keeps_old_mark")) cudaEventRecord(b->event, b->stream);
		cudaEventDestroy(n->event);
	}
	if (!fault("counts_twice")) delete n;
}

static void putBack(Block *b) {
	b->used = false;
	if (!fault("never_merges")) {
		if (b->after != nullptr && (fault("merges_used") || !b->after->used) && sameOwner(b, b->after)) merge(b);
		if (b->before != nullptr && !b->before->used && sameOwner(b, b->before)) {
			b = b->before;
			erase(unused, b);
			merge(b);
		}
	}
	unused.push_back(b);
	if (fault("frees_twice") && b->size == 2 << 20) unused.push_back(b);
}

// complete puts back what other streams are through with, or waits for them.
static void complete(bool wait) {
	for (size_t i = 0; i < waiting.size();) {
		Block *b = waiting[i];
		bool done = true;
		for (cudaEvent_t e : b->pending) {
			if (wait && !fault("waits_for_none")) cudaEventSynchronize(e);
			cudaError_t r = cudaEventQuery(e);
			done = done && (fault("takes_busy_for_done") || r == cudaSuccess || (wait && fault("waits_for_none")));
		}
		if (!done) {
			i++;
			continue;
		}
		for (cudaEvent_t e : b->pending) cudaEventDestroy(e);
		b->pending.clear();
		waiting.erase(waiting.begin() + long(i));
		putBack(b);
	}
	cudaGetLastError();
}

// mergeAll merges what different streams have freed, once all their work is over.
static void mergeAll() {
	for (Block *b : unused) {
		if (b->event != nullptr && !fault("merges_at_once")) cudaEventSynchronize(b->event);
	}
	idle = true;
	for (size_t i = 0; i < unused.size(); i++) {
		while (unused[i]->after != nullptr && !unused[i]->after->used) {
			Block *b = unused[i];
			merge(b);
			for (i = 0; unused[i] != b;) i++;
		}
	}
	idle = false;
}

// release returns whole segments that are unused to the driver.
static void release(int device, const cudaStream_t *only = nullptr) {
	if (fault("keeps_cache")) return;
	complete(true);
	if (steals) mergeAll();
	for (size_t i = 0; i < unused.size();) {
		Block *b = unused[i];
		const bool whole = b->before == nullptr && b->after == nullptr;
		const bool other = (device >= 0 && b->device != device) || (only != nullptr && b->stream != *only);
		if ((!whole && !(fault("frees_parts") && b->before == nullptr)) || (other && !fault("frees_all_devices"))) {
			i++;
			continue;
		}
		if (fault("keeps_first") && b->ptr == first[b->device]) {
			i++;
			continue;
		}
		unused.erase(unused.begin() + long(i));
		if (fault("keeps_large") && b->size > 20 << 20) continue;
		if (fault("only_device_0") && b->device != 0) continue;
		if (b->event != nullptr) cudaEventDestroy(b->event);
		OnDevice on(b->device);
		if (fault("frees_async")) cudaFreeAsync(b->ptr, nullptr);
		else cudaFree(b->ptr);
		delete b;
	}
}

static Block *cut(Block *b, size_t size) {
	if (b->size - size < 512 || fault("never_cuts")) return b;
	Block *rest = new Block{b->ptr + size, b->size - size, b->device, b->stream, b, b->after, false, nullptr, {}, {}};
	if (fault("overlaps_rest") && size > 4096) rest->ptr -= 512, rest->size += 512;
	if (b->event != nullptr) rest->event = b->event, b->event = nullptr;
	if (rest->event != nullptr && fault("rest_has_no_mark")) rest->event = nullptr;
	if (b->after != nullptr) b->after->before = rest;
	b->after = rest;
	b->size = size;
	if (fault("loses_rest") && rest->size > 1 << 20) return rest->used = true, b;
	unused.push_back(rest);
	return b;
}

static Block *find(size_t size, int device, cudaStream_t stream) {
	Block *best = nullptr;
	for (Block *b : unused) {
		if (b->size < size && !(fault("one_short") && b->size + 512 == size)) continue;
		if (b->device != device && !fault("forgets_device")) continue;
		if (b->stream != stream && !fault("forgets_stream") && !steals) continue;
		if (best == nullptr || (b->stream == stream) > (best->stream == stream) || b->size < best->size) best = b;
	}
	if (best == nullptr) return nullptr;
	erase(unused, best);
	if (best->event != nullptr && best->stream != stream && !fault("no_wait")) cudaStreamWaitEvent(stream, best->event, 0);
	if (best->event != nullptr && best->stream != stream && best->after == nullptr && best->before == nullptr) best->stream = stream;
	return best;
}

static Block *ask(size_t size, int device, cudaStream_t stream) {
	char *ptr = nullptr;
	const cudaError_t e = stuck ? cudaErrorMemoryAllocation : cudaMalloc((void **)&ptr, ofDriver(size));
	if (e == cudaSuccess) first.emplace(device, ptr);
	if (e == cudaSuccess) return new Block{ptr, ofDriver(size), device, stream, nullptr, nullptr, false, nullptr, {}, {}};
	if (fault("error_stays")) stuck = true;
	if (fault("aborts")) std::abort();
	if (!fault("keeps_error")) cudaGetLastError();
	return nullptr;
}

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	mutex.lock();
	OnDevice on(device);
	complete(false);
	const size_t size = rounded(size_t(bytes));
	Block *b = find(size, device, stream);
	if (b == nullptr) b = ask(size, device, stream);
	if (b == nullptr && fault("stays_locked")) return nullptr;
	if (b == nullptr && !fault("tries_once")) release(device, fault("keeps_other_streams") ? &stream : nullptr), b = ask(size, device, stream);
	if (b == nullptr && fault("hands_out_anything") && !used.empty()) {
		mutex.unlock();
		return used.begin()->first;
	}
	if (b != nullptr) {
		b = cut(b, size);
		b->used = true;
		b->stream = fault("keeps_stream") ? b->stream : stream;
		used[b->ptr] = b;
	}
	mutex.unlock();
	if (b == nullptr) return fault("returns_junk") ? (void *)0x1000 : nullptr;
	return b->ptr;
}

extern "C" void my_free(void *ptr, ssize_t bytes, int device, cudaStream_t stream) {
	std::lock_guard<std::mutex> guard(mutex);
	OnDevice on(device);
	Block *b = used.at(ptr);
	used.erase(ptr);
	if (fault("loses") && bytes == 2 << 20) return;
	if (fault("loses_some") && bytes > 3 << 20) return;
	if (steals) {
		if (b->event == nullptr) cudaEventCreateWithFlags(&b->event, cudaEventDisableTiming);
		if (!fault("marks_at_malloc")) cudaEventRecord(b->event, fault("wrong_stream") ? nullptr : stream);
		b->stream = stream;
	}
	for (auto [s, of] : b->others) {
		if ((s == b->stream && of == device) || fault("forgets_uses") || (fault("forgets_second") && !b->pending.empty())) continue;
		b->pending.push_back(mark(s, of));
	}
	b->others.clear();
	if (b->pending.empty()) return putBack(b);
	waiting.push_back(b);
}

#ifdef IN_PLACE
extern "C" void *my_malloc_aligned(ssize_t bytes, size_t align, int device, cudaStream_t stream) {
	if (align <= 512 || fault("ignores_alignment")) return my_malloc(bytes, device, stream);
	char *whole = (char *)my_malloc(bytes + ssize_t(align), device, stream);
	if (whole == nullptr) return nullptr;
	std::lock_guard<std::mutex> guard(mutex);
	Block *b = used.at(whole);
	const size_t front = (align - size_t(whole) % align) % align;
	if (front == 0) return whole;
	used.erase(whole);
	Block *at = new Block{whole + front, b->size - front, device, stream, b, b->after, true, nullptr, {}, {}};
	if (b->after != nullptr) b->after->before = at;
	b->after = at;
	b->size = front;
	if (steals) { // an earlier owner's work may still be under way
		cudaEventCreateWithFlags(&b->event, cudaEventDisableTiming);
		cudaEventRecord(b->event, stream);
	}
	putBack(b);
	used[at->ptr] = at;
	return at->ptr;
}

extern "C" int my_resize(void *ptr, ssize_t, ssize_t to, int, cudaStream_t) {
	std::lock_guard<std::mutex> guard(mutex);
	Block *b = used.at(ptr), *n = b->after;
	const size_t size = rounded(size_t(to));
	if (size > b->size) {
		if (fault("grows_anyway")) return 1;
		if (n == nullptr || (n->used && !fault("grows_into_used")) || (n->stream != b->stream && !fault("grows_into_others")) || b->size + n->size < size) return 0;
		merge(b);
	}
	if (cut(b, size)->after != n && b->after != nullptr && b->after->before == b && !b->after->used) {
		Block *rest = b->after;
		erase(unused, rest);
		putBack(rest);
	}
	if (fault("shrinks_too_far") && b->size > 4096 && b->after != nullptr && !b->after->used) b->after->ptr -= 512, b->after->size += 512;
	return 1;
}

extern "C" void my_end() {
	std::lock_guard<std::mutex> guard(mutex);
	if (!fault("ends_with_cache")) release(-1);
}
#endif

#ifdef RECORDS
extern "C" void my_record_stream(void *ptr, cudaStream_t stream) {
	std::lock_guard<std::mutex> guard(mutex);
	auto at = used.find(ptr);
	int of = 0;
	cudaGetDevice(&of); // a stream is named with its device current
	if (at != used.end()) at->second->others.insert({stream, of});
}
#endif

#ifndef NO_EMPTY
extern "C" void my_empty_cache() {
	std::lock_guard<std::mutex> guard(mutex);
	release(-1);
}
#endif
