// Work that waits for other processes: collectives. Another process raises a channel's number when it
// comes to its part (thin/nccl_channels.c). For each stream and each event it is written down which
// numbers the work before it waits for, and the host waits for them where it waits for that work.
// A query does not: when work completes is the machine's matter.
#include "core.h"
#include "peers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct { uint64_t *at; size_t count; } Numbers; // by channel; 0: nothing of it
typedef struct Entry { uint64_t key; Numbers numbers; struct Entry *next; } Entry;
enum { SLOTS = 1024 };

static Entry *streams[SLOTS], *events[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int used; // whether there was any collective
static void (*arrive)(int channel, uint64_t number);

void gaugeblock_on_arrival(void (*wait)(int, uint64_t)) { arrive = wait; }

static Entry *entry(Entry **table, uint64_t key, int make) {
	Entry **slot = &table[(key * 0x9e3779b97f4a7c15ull >> 32) % SLOTS];
	for (Entry *e = *slot; e != NULL; e = e->next) {
		if (e->key == key) {
			return e;
		}
	}
	Entry *e = make ? calloc(1, sizeof *e) : NULL;
	if (e != NULL) {
		e->key = key, e->next = *slot;
		*slot = e;
	}
	return e;
}

static uint64_t stream_key(uint64_t device, uint64_t number) { return device << 56 | number; }

static void at_least(Numbers *n, size_t channel, uint64_t number) {
	if (channel >= n->count) {
		uint64_t *more = realloc(n->at, (channel + 1) * sizeof *more);
		if (more == NULL) {
			abort();
		}
		memset(more + n->count, 0, (channel + 1 - n->count) * sizeof *more);
		n->at = more, n->count = channel + 1;
	}
	if (number > n->at[channel]) {
		n->at[channel] = number;
	}
}

static void add(Entry *to, const Entry *from) {
	for (size_t i = from == NULL ? 0 : from->numbers.count; i > 0; i--) {
		at_least(&to->numbers, i - 1, from->numbers.at[i - 1]);
	}
}

void gaugeblock_waits_for(void *stream, int channel, uint64_t number) {
	uint64_t of, device;
	if (gaugeblock_stream(stream, gaugeblock_current_runtime(), &of, &device) != 0) {
		return;
	}
	pthread_mutex_lock(&lock);
	used = 1;
	at_least(&entry(streams, stream_key(device, of), 1)->numbers, (size_t)channel, number);
	pthread_mutex_unlock(&lock);
}

// wait waits for what an entry has, with the lock free meanwhile.
static void wait(Entry *e) {
	if (e == NULL || arrive == NULL) {
		return;
	}
	for (size_t i = 0; i < e->numbers.count; i++) {
		uint64_t number = e->numbers.at[i];
		if (number > 0) {
			pthread_mutex_unlock(&lock);
			arrive((int)i, number);
			pthread_mutex_lock(&lock);
		}
	}
}

static void wait_for_device(uint64_t device) {
	for (size_t slot = 0; slot < SLOTS; slot++) {
		for (Entry *e = streams[slot]; e != NULL; e = e->next) {
			if (e->key >> 56 == device) {
				wait(e);
			}
		}
	}
}

void gaugeblock_follow(int operation, const uint64_t *w) {
	if (!used) {
		return;
	}
	pthread_mutex_lock(&lock);
	switch (operation) {
	case GAUGEBLOCK_EVENT_RECORD: {
		Entry *e = entry(events, w[0], 1);
		e->numbers.count = 0;
		add(e, entry(streams, stream_key(w[1], w[2]), 0));
		break;
	}
	case GAUGEBLOCK_STREAM_WAIT:
		add(entry(streams, stream_key(w[0], w[1]), 1), entry(events, w[2], 0));
		break;
	case GAUGEBLOCK_EVENT_DESTROY: {
		Entry *e = entry(events, w[0], 0); // its handle may be that of a new one
		if (e != NULL) {
			e->numbers.count = 0;
		}
		break;
	}
	case GAUGEBLOCK_STREAM_SYNCHRONIZE:
		wait(entry(streams, stream_key(w[0], w[1]), 0));
		break;
	case GAUGEBLOCK_EVENT_SYNCHRONIZE:
		wait(entry(events, w[0], 0));
		break;
	case GAUGEBLOCK_DEVICE_SYNCHRONIZE:
		wait_for_device(w[0]);
		break;
	}
	pthread_mutex_unlock(&lock);
}
