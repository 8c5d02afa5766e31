// Pools of pinned and of managed memory. Each piece is memory of its own, which is given back when the
// work before its free is over: that is looked for whenever a pool is used.
#include "driver.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct Piece {
	void *at;
	size_t bytes;
	struct HostPool *of;
	uint64_t event; // behind its free; 0: it is allocated
	struct Piece *next;
} Piece;

typedef struct HostPool {
	int kind, destroyed, reached;
	uint64_t used, most_used;
	struct HostPool *next;
} HostPool;

static HostPool standard[] = {{.kind = HOST_PINNED}, {.kind = HOST_MANAGED}};
static HostPool *pools = NULL;
static Piece *pieces;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int gaugeblock_is_host_pool(const void *pool) {
	const HostPool *p = pool;
	if (p == &standard[0] || p == &standard[1]) {
		return 1;
	}
	pthread_mutex_lock(&lock);
	for (p = pools; p != NULL && p != pool;) {
		p = p->next;
	}
	pthread_mutex_unlock(&lock);
	return p != NULL && pool != NULL;
}

int gaugeblock_host_pool_of(void **pool, int kind) {
	if (pool == NULL) {
		return INVALID_VALUE;
	}
	*pool = &standard[kind == HOST_MANAGED];
	return 0;
}

int gaugeblock_host_pool(void **pool, int kind) {
	if (pool == NULL) {
		return INVALID_VALUE;
	}
	HostPool *p = calloc(1, sizeof *p);
	if (p == NULL) {
		return OUT_OF_MEMORY;
	}
	p->kind = kind;
	pthread_mutex_lock(&lock);
	p->next = pools;
	pools = p;
	pthread_mutex_unlock(&lock);
	*pool = p;
	return 0;
}

// collect gives back what was freed, where the work before the free is over. The lock is held.
static void collect(void) {
	for (Piece **at = &pieces; *at != NULL;) {
		Piece *p = *at;
		WORDS(p->event);
		if (p->event == 0 || gaugeblock_do(GAUGEBLOCK_EVENT_QUERY, w) != 0) {
			at = &p->next;
			continue;
		}
		uint64_t event[8] = {p->event};
		gaugeblock_do(GAUGEBLOCK_EVENT_DESTROY, event);
		gaugeblock_host_free(p->at, p->of->kind);
		*at = p->next;
		free(p);
	}
}

int gaugeblock_host_pool_destroy(void *pool) {
	HostPool *p = pool;
	if (p == &standard[0] || p == &standard[1] || p->destroyed) {
		return INVALID_VALUE;
	}
	pthread_mutex_lock(&lock);
	p->destroyed = 1;
	collect();
	pthread_mutex_unlock(&lock);
	return 0;
}

static unsigned flags_of(const HostPool *p) {
	return p->kind == HOST_MANAGED || p->reached ? 1 : 1 | HOST_NOT_REACHED;
}

int gaugeblock_host_pool_reached(void *pool) {
	HostPool *p = pool;
	pthread_mutex_lock(&lock);
	p->reached = 1;
	for (Piece *piece = pieces; piece != NULL; piece = piece->next) {
		if (piece->of == p) {
			gaugeblock_host_reach(piece->at);
		}
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

int gaugeblock_host_pool_malloc(void **ptr, size_t bytes, void *pool) {
	HostPool *p = pool;
	Piece *piece = calloc(1, sizeof *piece);
	int r = piece == NULL ? OUT_OF_MEMORY : p->destroyed ? INVALID_VALUE : gaugeblock_host_alloc(ptr, bytes, p->kind, flags_of(p));
	if (r != 0 || *ptr == NULL) {
		free(piece);
		return r;
	}
	pthread_mutex_lock(&lock);
	collect();
	*piece = (Piece){*ptr, bytes, p, 0, pieces};
	pieces = piece;
	p->used += bytes;
	p->most_used = p->used > p->most_used ? p->used : p->most_used;
	pthread_mutex_unlock(&lock);
	return 0;
}

// gaugeblock_host_pool_free is -1 if the memory is of no such pool.
int gaugeblock_host_pool_free(void *ptr, uint64_t device, uint64_t stream) {
	int r = -1;
	pthread_mutex_lock(&lock);
	for (Piece *p = pieces; p != NULL; p = p->next) {
		if (p->at == ptr && p->event == 0) {
			uint64_t made[8] = {device};
			r = gaugeblock_do(GAUGEBLOCK_EVENT_CREATE, made);
			WORDS(made[1], device, stream);
			r = r != 0 ? r : gaugeblock_do(GAUGEBLOCK_EVENT_RECORD, w);
			p->event = r == 0 ? made[1] : 0;
			p->of->used -= r == 0 ? p->bytes : 0;
			break;
		}
	}
	collect();
	pthread_mutex_unlock(&lock);
	return r;
}

enum { FLAGS = 3, THRESHOLD, RESERVED, MOST_RESERVED, USED, MOST_USED };

int gaugeblock_host_pool_get(void *pool, int attribute, uint64_t *value) {
	if (value == NULL) {
		return INVALID_VALUE;
	}
	HostPool *p = pool;
	pthread_mutex_lock(&lock);
	collect();
	uint64_t reserved = p->used;
	for (Piece *piece = pieces; piece != NULL; piece = piece->next) {
		reserved += piece->of == p && piece->event != 0 ? piece->bytes : 0;
	}
	*value = attribute <= FLAGS ? 1 : attribute == THRESHOLD ? 0 : attribute == RESERVED ? reserved : attribute == USED ? p->used : p->most_used;
	pthread_mutex_unlock(&lock);
	return attribute < 1 || attribute > MOST_USED ? INVALID_VALUE : 0;
}
