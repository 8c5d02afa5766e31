// operator new and delete for PyTorch's libraries: this library is loaded before libstdc++ is,
// so that its operators are the ones that are found.
//
// Memory is cut off a region at a fixed place and kept in lists by size. So equal programs
// get equal addresses, in every process; and to put the heap back is to copy what was saved
// and to forget the rest. Where PyTorch goes by the addresses of its own objects it does the
// same in every run.
#include "arena.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr size_t region = GAUGEBLOCK_ARENA_BYTES;
constexpr uintptr_t place = GAUGEBLOCK_ARENA_PLACE;
constexpr size_t header = 16, step = 16, small = 1024;
constexpr int classes = small / step + 64;

struct State {
	size_t used;
	void *lists[classes];
};

char *base;
State state;
State marked;
char *content; // of the arena when it was marked
__thread int inside, suspended;
std::atomic_flag lock = ATOMIC_FLAG_INIT;

struct Locked {
	Locked() { while (lock.test_and_set(std::memory_order_acquire)) {} }
	~Locked() { lock.clear(std::memory_order_release); }
};

// A size's class: steps of 16 bytes, and above 1 KiB powers of two.
int classOf(size_t bytes, size_t *size) {
	if (bytes <= small) {
		size_t c = bytes == 0 ? 0 : (bytes - 1) / step;
		*size = (c + 1) * step;
		return (int)c;
	}
	int log = 64 - __builtin_clzll(bytes - 1);
	*size = size_t(1) << log;
	return (int)(small / step) + log;
}

void *take(size_t bytes, size_t alignment) {
	if (alignment > 16) bytes += alignment;
	size_t size;
	int c = classOf(bytes, &size);
	Locked l;
	void *p = state.lists[c];
	if (p != nullptr) {
		std::memcpy(&state.lists[c], p, sizeof(void *));
	} else {
		if (state.used + header + size > region) abort();
		p = base + state.used + header;
		state.used += header + size;
		int64_t number = c;
		std::memcpy((char *)p - 8, &number, 8);
	}
	if (alignment > 16) {
		uintptr_t at = ((uintptr_t)p + alignment) / alignment * alignment;
		int64_t back = -(int64_t)(at - (uintptr_t)p);
		std::memcpy((char *)at - 8, &back, 8);
		return (void *)at;
	}
	return p;
}

void give(void *p) {
	int64_t number;
	std::memcpy(&number, (char *)p - 8, 8);
	if (number < 0) {
		p = (char *)p + number;
		std::memcpy(&number, (char *)p - 8, 8);
	}
	Locked l;
	std::memcpy(p, &state.lists[number], sizeof(void *));
	state.lists[number] = p;
}

void *make(size_t bytes, size_t alignment) {
	if (inside > 0 && suspended == 0) return take(bytes, alignment);
	void *p = alignment > 16 ? aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment) : malloc(bytes ? bytes : 1);
	if (p == nullptr) throw std::bad_alloc();
	return p;
}

void end(void *p) {
	if (p == nullptr) return;
	if (gaugeblock_arena_has(p)) give(p);
	else free(p);
}

} // namespace

#define API __attribute__((visibility("default")))

extern "C" {
API int gaugeblock_arena_has(const void *p) { return (uintptr_t)p >= place && (uintptr_t)p < place + region && base != nullptr; }
API void gaugeblock_arena_begin(void) { base = (char *)place; }
API void gaugeblock_arena_enter(void) { inside++; }
API void gaugeblock_arena_leave(void) { inside--; }
API void gaugeblock_arena_suspend(void) { suspended++; }
API void gaugeblock_arena_resume(void) { suspended--; }
API void gaugeblock_arena_mark(void) {
	marked = state;
	content = (char *)malloc(marked.used ? marked.used : 1);
	std::memcpy(content, base, marked.used);
}
API void gaugeblock_arena_reset(void) {
	std::memcpy(base, content, marked.used);
	state = marked;
}
}

API void *operator new(size_t n) { return make(n, 16); }
API void *operator new[](size_t n) { return make(n, 16); }
API void *operator new(size_t n, const std::nothrow_t &) noexcept { return make(n, 16); }
API void *operator new[](size_t n, const std::nothrow_t &) noexcept { return make(n, 16); }
API void *operator new(size_t n, std::align_val_t a) { return make(n, (size_t)a); }
API void *operator new[](size_t n, std::align_val_t a) { return make(n, (size_t)a); }
API void operator delete(void *p) noexcept { end(p); }
API void operator delete[](void *p) noexcept { end(p); }
API void operator delete(void *p, size_t) noexcept { end(p); }
API void operator delete[](void *p, size_t) noexcept { end(p); }
API void operator delete(void *p, const std::nothrow_t &) noexcept { end(p); }
API void operator delete[](void *p, const std::nothrow_t &) noexcept { end(p); }
API void operator delete(void *p, std::align_val_t) noexcept { end(p); }
API void operator delete[](void *p, std::align_val_t) noexcept { end(p); }
API void operator delete(void *p, size_t, std::align_val_t) noexcept { end(p); }
API void operator delete[](void *p, size_t, std::align_val_t) noexcept { end(p); }
