// Contexts: each device's primary one, and those that programs create. What a context of a program's
// own has beside is its memory, which ends with it.
#include "driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { DEPTH = 64, DESTROYED = 709, VERSION = 3020, MAX_LIMITS = 16 };

typedef struct Memory { Ptr ptr; struct Memory *next; } Memory;

typedef struct Context {
	_Atomic int device;
	_Atomic unsigned flags;
	int own;
	_Atomic int destroyed;
	_Atomic unsigned retained; // of a primary one
	Memory *memory;    // of one of a program's own
	struct Context *next;
} Context;

static Context primary[MAX_DEVICES];
static Context *created; // also those that are destroyed: their addresses stay known
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __thread Context *stack[DEPTH]; // below the current one
static __thread int depth;
static __thread Context *current; // of a program's own; otherwise the current device says which it is

int gaugeblock_pushed(void) { return depth; }

static Context *find(const void *context) {
	const Context *c = context;
	if (c >= primary && c < primary + MAX_DEVICES) {
		primary[c - primary].device = (int)(c - primary);
		return &primary[c - primary];
	}
	pthread_mutex_lock(&lock);
	Context *own = created;
	while (own != NULL && own != c) {
		own = own->next;
	}
	pthread_mutex_unlock(&lock);
	return own;
}

void *gaugeblock_context(int device) { return find(&primary[device]); }

int gaugeblock_context_device(const void *context) {
	Context *c = find(context);
	return c == NULL ? -1 : c->device;
}

// now is the thread's current context, NULL if it has none.
static Context *now(void) {
	int device = gaugeblock_current();
	if (current != NULL && current->device == device) {
		return current;
	}
	return device < 0 ? NULL : gaugeblock_context(device);
}

int gaugeblock_context_unusable(void) {
	Context *c = now();
	return !gaugeblock_initialized() ? NOT_INITIALIZED : c == NULL ? INVALID_CONTEXT : c->destroyed ? DESTROYED : 0;
}

static void make_current(Context *c) {
	gaugeblock_make_current(c == NULL ? -1 : c->device);
	current = c != NULL && c->own ? c : NULL;
}

void gaugeblock_context_has(Ptr ptr) {
	Context *c = now();
	Memory *m = c == NULL || !c->own ? NULL : malloc(sizeof *m);
	if (m != NULL) {
		pthread_mutex_lock(&lock);
		*m = (Memory){ptr, c->memory};
		c->memory = m;
		pthread_mutex_unlock(&lock);
	}
}

// owner finds the context of a program's own that memory is of. The lock is held.
static Memory **owner(Ptr ptr, Context **of) {
	for (Context *c = created; c != NULL; c = c->next) {
		for (Memory **m = &c->memory; *m != NULL; m = &(*m)->next) {
			if ((*m)->ptr == ptr) {
				*of = c;
				return m;
			}
		}
	}
	return NULL;
}

void gaugeblock_context_lost(Ptr ptr) {
	Context *c;
	pthread_mutex_lock(&lock);
	Memory **m = owner(ptr, &c), *gone = m == NULL ? NULL : *m;
	if (gone != NULL) {
		*m = gone->next;
	}
	pthread_mutex_unlock(&lock);
	free(gone);
}

void *gaugeblock_context_of(Ptr ptr, int device) {
	Context *c = NULL;
	pthread_mutex_lock(&lock);
	owner(ptr, &c);
	pthread_mutex_unlock(&lock);
	return c != NULL ? c : gaugeblock_context(device);
}

API cuDevicePrimaryCtxRetain(void **context, int device) {
	if (context == NULL) {
		return INVALID_VALUE;
	}
	int r = gaugeblock_device_there(device);
	if (r == 0) {
		Context *c = *context = gaugeblock_context(device);
		c->retained++;
	}
	return r;
}

API cuDevicePrimaryCtxRelease_v2(int device) {
	int r = gaugeblock_device_there(device);
	if (r != 0) {
		return r;
	}
	unsigned before = primary[device].retained;
	while (before > 0 && !atomic_compare_exchange_weak(&primary[device].retained, &before, before - 1)) {
	}
	return before > 0 ? 0 : INVALID_CONTEXT;
}

API cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
	if (flags == NULL || active == NULL) {
		return INVALID_VALUE;
	}
	int r = gaugeblock_device_there(device);
	if (r == 0) {
		*flags = primary[device].flags;
		*active = primary[device].retained > 0 || gaugeblock_runtime_uses(device);
	}
	return r;
}

API cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
	int r = gaugeblock_device_there(device);
	if (r == 0) {
		primary[device].flags = flags;
	}
	return r;
}

API cuCtxCreate_v4(void **context, void *parameters, unsigned flags, int device) {
	if (context == NULL) {
		return INVALID_VALUE;
	}
	(void)parameters;
	int r = gaugeblock_device_there(device);
	Context *c = r != 0 ? NULL : calloc(1, sizeof *c);
	if (c == NULL) {
		return r != 0 ? r : OUT_OF_MEMORY;
	}
	c->device = device, c->flags = flags, c->own = 1;
	pthread_mutex_lock(&lock);
	c->next = created;
	created = c;
	pthread_mutex_unlock(&lock);
	if (depth < DEPTH) {
		stack[depth++] = now();
	}
	make_current(c);
	*context = c;
	return 0;
}

API cuCtxCreate_v3(void **context, void *affinities, int count, unsigned flags, int device) {
	(void)affinities, (void)count;
	return cuCtxCreate_v4(context, NULL, flags, device);
}

API cuCtxCreate_v2(void **context, unsigned flags, int device) { return cuCtxCreate_v4(context, NULL, flags, device); }
API cuCtxCreate(void **context, unsigned flags, int device) { return cuCtxCreate_v2(context, flags, device); }

API cuCtxPopCurrent_v2(void **context) {
	Context *c = now();
	if (c == NULL) {
		return INVALID_CONTEXT;
	}
	if (context != NULL) {
		*context = c;
	}
	make_current(depth > 0 ? stack[--depth] : NULL);
	return 0;
}

// cuCtxDestroy frees the context's memory, when its device is through with it.
API cuCtxDestroy_v2(void *context) {
	Context *c = find(context);
	if (context == NULL) {
		return INVALID_VALUE;
	}
	if (c == NULL || c->destroyed || !c->own) {
		return INVALID_CONTEXT;
	}
	c->destroyed = 1;
	while (c->memory != NULL) {
		WORDS(c->memory->ptr);
		gaugeblock_do(GAUGEBLOCK_FREE, w);
		gaugeblock_context_lost(c->memory->ptr);
	}
	return now() == c ? cuCtxPopCurrent_v2(NULL) : 0;
}

API cuCtxPushCurrent_v2(void *context) {
	Context *c = find(context);
	if (c == NULL || depth == DEPTH) {
		return context == NULL ? INVALID_VALUE : INVALID_CONTEXT;
	}
	stack[depth++] = now();
	make_current(c);
	return 0;
}

API cuCtxSetCurrent(void *context) {
	Context *c = find(context);
	if (context != NULL && c == NULL) {
		return INVALID_CONTEXT;
	}
	make_current(c);
	return 0;
}

API cuCtxGetCurrent(void **context) {
	if (context == NULL) {
		return INVALID_VALUE;
	}
	*context = now();
	return 0;
}

API cuCtxGetDevice(int *of) {
	if (of == NULL) {
		return INVALID_VALUE;
	}
	CURRENT(device)
	*of = device;
	return 0;
}

API cuCtxGetDevice_v2(int *device, void *context) {
	if (device == NULL) {
		return INVALID_VALUE;
	}
	Context *c = context == NULL ? now() : find(context);
	if (c == NULL) {
		return INVALID_CONTEXT;
	}
	*device = c->device;
	return 0;
}

API cuCtxSynchronize(void) {
	CURRENT(device)
	WORDS((uint64_t)device);
	return gaugeblock_do(GAUGEBLOCK_DEVICE_SYNCHRONIZE, w);
}

API cuCtxSynchronize_v2(void *context) {
	Context *c = context == NULL ? now() : find(context);
	if (c == NULL) {
		return INVALID_CONTEXT;
	}
	WORDS((uint64_t)c->device);
	return gaugeblock_do(GAUGEBLOCK_DEVICE_SYNCHRONIZE, w);
}

API cuCtxGetId(void *context, unsigned long long *id) {
	if (id == NULL) {
		return INVALID_VALUE;
	}
	Context *c = context == NULL ? now() : find(context);
	if (c == NULL) {
		return INVALID_CONTEXT;
	}
	*id = c->own ? P(c) : (uint64_t)c->device + 1;
	return 0;
}

API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
	if (least != NULL) {
		*least = 0;
	}
	if (greatest != NULL) {
		*greatest = -5;
	}
	return 0;
}

API cuCtxGetApiVersion(void *context, unsigned *version) {
	if (version == NULL) {
		return INVALID_VALUE;
	}
	if (context != NULL && find(context) == NULL) {
		return INVALID_CONTEXT;
	}
	*version = VERSION;
	return 0;
}

API cuCtxGetFlags(unsigned *flags) {
	if (flags == NULL) {
		return INVALID_VALUE;
	}
	Context *c = now();
	if (c == NULL) {
		return INVALID_CONTEXT;
	}
	*flags = c->flags;
	return 0;
}

API cuCtxSetFlags(unsigned flags) {
	Context *c = now();
	if (c == NULL) {
		return INVALID_CONTEXT;
	}
	c->flags = flags;
	return 0;
}

// Limits (of stacks, heaps and the like) and preferences are kept, and mean nothing.
static _Atomic size_t limits[MAX_LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 128};
static _Atomic int preferences[2];

API cuCtxSetLimit(int limit, size_t value) {
	if (limit < 0 || limit >= MAX_LIMITS) {
		return INVALID_VALUE;
	}
	limits[limit] = value;
	return 0;
}

API cuCtxGetLimit(size_t *value, int limit) {
	if (value == NULL) {
		return INVALID_VALUE;
	}
	if (limit < 0 || limit >= MAX_LIMITS) {
		return INVALID_VALUE;
	}
	*value = limits[limit];
	return 0;
}

static Result tell(int *answer, int which) { return answer == NULL ? INVALID_VALUE : (*answer = preferences[which], 0); }
API cuCtxGetCacheConfig(int *config) { return tell(config, 0); }
API cuCtxSetCacheConfig(int config) { return preferences[0] = config, 0; }
API cuCtxGetSharedMemConfig(int *config) { return tell(config, 1); }
API cuCtxSetSharedMemConfig(int config) { return preferences[1] = config, 0; }
API cuCtxResetPersistingL2Cache(void) { return 0; }

static uint64_t peers[MAX_DEVICES]; // enabled through this library

API cuCtxEnablePeerAccess(void *peer, unsigned flags) {
	CURRENT(device)
	int other = gaugeblock_context_device(peer);
	if (other < 0) {
		return INVALID_CONTEXT;
	}
	if (flags != 0) {
		return INVALID_VALUE;
	}
	if (__atomic_load_n(&peers[device], __ATOMIC_RELAXED) >> other & 1) {
		return PEER_ALREADY;
	}
	WORDS((uint64_t)device, (uint64_t)other);
	int r = gaugeblock_do(GAUGEBLOCK_PEER_ENABLE, w);
	if (r == 0) {
		__atomic_fetch_or(&peers[device], 1ull << other, __ATOMIC_RELAXED);
	}
	return r;
}

API cuStreamGetCtx(void *stream, void **context) {
	if (context == NULL) {
		return INVALID_VALUE;
	}
	ON(stream, number, device)
	(void)number;
	*context = gaugeblock_context((int)device);
	return 0;
}

UNVERSIONED(cuCtxPopCurrent)
UNVERSIONED(cuCtxPushCurrent)
UNVERSIONED(cuCtxDestroy)
UNVERSIONED(cuDevicePrimaryCtxRelease)
UNVERSIONED(cuDevicePrimaryCtxSetFlags)
