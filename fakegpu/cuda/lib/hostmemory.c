// Memory of the host's that the devices can reach: pinned, registered and managed memory. The tree
// that finds it by an address is the C library's.
#define _GNU_SOURCE
#include "core.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713 };

static void *tree;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Pieces that overlap are the same to the tree.
static int compare(const void *a, const void *b) {
	const HostMemory *x = a, *y = b;
	return x->to <= y->from ? -1 : y->to <= x->from ? 1 : 0;
}

int gaugeblock_host_find(const void *ptr, HostMemory *found) {
	HostMemory wanted = {.from = P(ptr), .to = P(ptr) + 1};
	pthread_mutex_lock(&lock);
	HostMemory **at = tfind(&wanted, &tree, compare);
	if (at != NULL && found != NULL) {
		*found = **at;
	}
	pthread_mutex_unlock(&lock);
	return at != NULL;
}

void gaugeblock_host_change(const void *ptr, const HostMemory *as) {
	HostMemory wanted = {.from = P(ptr), .to = P(ptr) + 1};
	pthread_mutex_lock(&lock);
	HostMemory **at = tfind(&wanted, &tree, compare);
	if (at != NULL) {
		**at = *as;
	}
	pthread_mutex_unlock(&lock);
}

// add lets the devices reach memory.
static int add(HostMemory memory) {
	HostMemory *m = malloc(sizeof *m);
	if (m == NULL) {
		return OUT_OF_MEMORY;
	}
	*m = memory;
	pthread_mutex_lock(&lock);
	HostMemory **at = tsearch(m, &tree, compare);
	int there = at != NULL && *at != m;
	pthread_mutex_unlock(&lock);
	if (at == NULL || there) {
		free(m);
		return at == NULL ? OUT_OF_MEMORY : ALREADY_REGISTERED;
	}
	WORDS(memory.from, memory.to - memory.from);
	return memory.flags & HOST_NOT_REACHED ? 0 : gaugeblock_do(GAUGEBLOCK_HOST_ADD, w);
}

void gaugeblock_host_reach(const void *ptr) {
	HostMemory h;
	if (gaugeblock_host_find(ptr, &h) && h.flags & HOST_NOT_REACHED) {
		h.flags &= ~(unsigned)HOST_NOT_REACHED;
		gaugeblock_host_change(ptr, &h);
		WORDS(h.from, h.to - h.from);
		gaugeblock_do(GAUGEBLOCK_HOST_ADD, w);
	}
}

// take_away ends that for memory of a kind that begins at an address, when the devices are through
// with it.
static int take_away(void *ptr, int kind, HostMemory *gone) {
	if (!gaugeblock_host_find(ptr, gone) || gone->from != P(ptr) || gone->kind != kind) {
		return INVALID_VALUE;
	}
	WORDS(gone->from);
	int r = gaugeblock_do(GAUGEBLOCK_HOST_REMOVE, w);
	if (r != 0) {
		return r;
	}
	pthread_mutex_lock(&lock);
	HostMemory **at = tfind(gone, &tree, compare);
	HostMemory *own = at == NULL ? NULL : *at;
	if (own != NULL) {
		tdelete(own, &tree, compare);
	}
	pthread_mutex_unlock(&lock);
	free(own);
	return 0;
}

int gaugeblock_pin(void *ptr, size_t bytes, unsigned flags) {
	if (ptr == NULL || bytes == 0) {
		return INVALID_VALUE;
	}
	enum { MAPPED = 2 };
	return add((HostMemory){P(ptr), P(ptr) + bytes, HOST_REGISTERED, flags | MAPPED, gaugeblock_current_runtime(), NOWHERE, NOWHERE, 0});
}

int gaugeblock_unpin(void *ptr) {
	HostMemory gone;
	if (!gaugeblock_host_find(ptr, &gone)) {
		return NOT_REGISTERED;
	}
	return take_away(ptr, HOST_REGISTERED, &gone);
}

// The pages of memory that is allocated here.
static size_t pages(const HostMemory *m) { return (m->to - m->from + PAGE - 1) / PAGE * PAGE; }

static void guard(const void *node, VISIT visit, int depth) {
	HostMemory *m = *(HostMemory *const *)node;
	(void)depth;
	if ((visit == postorder || visit == leaf) && m->kind != HOST_REGISTERED && !(m->flags & HOST_GUARDED) &&
		mprotect((void *)m->from, pages(m), PROT_NONE) == 0) {
		m->flags |= HOST_GUARDED;
	}
}

void gaugeblock_host_guard(void) {
	pthread_mutex_lock(&lock);
	twalk(tree, guard);
	pthread_mutex_unlock(&lock);
}

int gaugeblock_host_unguard(const void *ptr) {
	HostMemory m;
	if (!gaugeblock_host_find(ptr, &m) || !(m.flags & HOST_GUARDED)) {
		return 0;
	}
	m.flags &= ~(unsigned)HOST_GUARDED;
	gaugeblock_host_change(ptr, &m);
	return mprotect((void *)m.from, pages(&m), PROT_READ | PROT_WRITE) == 0;
}

// Memory that is allocated here is where neither the system nor a fake device puts anything, so that
// an address tells the two apart. A sanitizer has its own memory there, and so it is elsewhere.
#ifndef __has_feature // clang tells by it what gcc tells by macros
#define __has_feature(name) 0
#endif
#if defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
enum { FIRST_MEMORY = 0x1000000000 };
#elif defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
enum { FIRST_MEMORY = 0x180000000000 };
#else
enum { FIRST_MEMORY = 0x20000000000 };
#endif

static void *obtain(size_t bytes) {
	static uintptr_t next = FIRST_MEMORY;
	for (int tries = 0; tries < 64; tries++) {
		uintptr_t at = __atomic_fetch_add(&next, bytes, __ATOMIC_RELAXED);
		void *p = mmap((void *)at, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
		if (p != MAP_FAILED) {
			return p;
		}
	}
	return NULL;
}

int gaugeblock_host_alloc(void **ptr, size_t bytes, int kind, unsigned flags) {
	enum { MOST = 46 }; // bits of a size
	*ptr = NULL;
	if (bytes == 0) {
		return 0;
	}
	WORDS(0);
	int r = gaugeblock_do(GAUGEBLOCK_HOST_ALLOC, w);
	if (r != 0) {
		return r;
	}
	size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
	void *made = bytes >> MOST != 0 ? NULL : obtain(whole);
	if (made == NULL) {
		return OUT_OF_MEMORY;
	}
	r = add((HostMemory){P(made), P(made) + bytes, kind, flags, gaugeblock_current_runtime(), NOWHERE, NOWHERE, 0});
	if (r != 0) {
		munmap(made, whole);
		return r;
	}
	*ptr = made;
	return 0;
}

int gaugeblock_host_free(void *ptr, int kind) {
	HostMemory gone;
	if (ptr == NULL) {
		return 0;
	}
	int r = take_away(ptr, kind, &gone);
	if (r == 0) {
		munmap(ptr, pages(&gone));
	}
	return r;
}
