// Memory of the host's that the devices can reach: allocated here, or registered. The tree that
// finds it by an address is the C library's.
#define _GNU_SOURCE
#include "core.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>

enum { PAGE = 4096, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713 };

typedef struct { uintptr_t from, to; } Pinned;
static void *tree;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Pieces that overlap are the same to the tree.
static int compare(const void *a, const void *b) {
	const Pinned *x = a, *y = b;
	return x->to <= y->from ? -1 : y->to <= x->from ? 1 : 0;
}

int gaugeblock_pinned(const void *ptr) {
	Pinned wanted = {P(ptr), P(ptr) + 1};
	pthread_mutex_lock(&lock);
	void *found = tfind(&wanted, &tree, compare);
	pthread_mutex_unlock(&lock);
	return found != NULL;
}

int gaugeblock_pin(void *ptr, size_t bytes) {
	Pinned *p = ptr == NULL || bytes == 0 ? NULL : malloc(sizeof *p);
	if (p == NULL) {
		return INVALID_VALUE;
	}
	p->from = P(ptr), p->to = P(ptr) + bytes;
	pthread_mutex_lock(&lock);
	Pinned **at = tsearch(p, &tree, compare);
	int there = at != NULL && *at != p;
	pthread_mutex_unlock(&lock);
	if (at == NULL || there) {
		free(p);
	}
	return at == NULL ? OUT_OF_MEMORY : there ? ALREADY_REGISTERED : 0;
}

int gaugeblock_unpin(void *ptr) {
	Pinned wanted = {P(ptr), P(ptr) + 1};
	pthread_mutex_lock(&lock);
	Pinned **at = tfind(&wanted, &tree, compare);
	Pinned *gone = at != NULL && (*at)->from == wanted.from ? *at : NULL;
	if (gone != NULL) {
		tdelete(gone, &tree, compare);
	}
	pthread_mutex_unlock(&lock);
	free(gone);
	return gone == NULL ? NOT_REGISTERED : 0;
}

int gaugeblock_host_alloc(void **ptr, size_t bytes) {
	*ptr = NULL;
	if (bytes == 0) {
		return 0;
	}
	WORDS(0);
	int r = gaugeblock_do(GAUGEBLOCK_HOST_ALLOC, w);
	if (r != 0) {
		return r;
	}
	void *made = bytes > SIZE_MAX - PAGE ? NULL : aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
	r = made == NULL ? OUT_OF_MEMORY : gaugeblock_pin(made, bytes);
	if (r != 0) {
		free(made);
		return r;
	}
	*ptr = made;
	return 0;
}

int gaugeblock_host_free(void *ptr) {
	if (ptr == NULL) {
		return 0;
	}
	if (gaugeblock_unpin(ptr) != 0) {
		return INVALID_VALUE;
	}
	free(ptr);
	return 0;
}
