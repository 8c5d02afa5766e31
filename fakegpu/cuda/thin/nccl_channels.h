// Channels between the processes of one machine: what one process says, in order, and others read.
// A channel is a file of GAUGEBLOCK_NCCL_FOLDER that both map; who writes is one process.
#ifndef GAUGEBLOCK_NCCL_CHANNELS_H
#define GAUGEBLOCK_NCCL_CHANNELS_H

#include "thin.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <errno.h>

typedef struct { _Atomic uint64_t count, end; _Atomic int writer, gone; } Head;
typedef struct { uint32_t bytes; int32_t state; } Record; // with the bytes behind it; gaugeblock_known says the states
struct channel {
	char name[96];
	Head *head;
	size_t *records; // where they are, as far as somebody asked
	uint64_t known;
	int number;
	uint64_t received; // of a channel to this rank alone: how many receptions there were
};

// A channel's file has room for so much, of which nothing is on a disk before it is written. What is said when it
// is full has no bytes.
enum { MAX_CHANNELS = 4096, HEAD_BYTES = 4096 };
static const size_t channel_bytes = (size_t)1 << 30;
static struct channel *channels[MAX_CHANNELS];
static int opened;
static pthread_mutex_t channels_lock = PTHREAD_MUTEX_INITIALIZER;

// alone: nobody else is there to speak with.
static int alone(void) { return getenv("GAUGEBLOCK_NCCL_FOLDER") == NULL; }

static void wait_for_channel(int number, uint64_t count);

// on_exit_channels says that this process says nothing more.
static void on_exit_channels(void) {
	for (int i = 0; i < opened; i++) {
		if (channels[i]->head->writer == getpid()) {
			channels[i]->head->gone = 1;
		}
	}
}

static void *map_channel(const char *name) {
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", getenv("GAUGEBLOCK_NCCL_FOLDER"), name);
	int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, (off_t)channel_bytes) != 0) {
		fprintf(stderr, "gaugeblock: %s: %s\n", path, strerror(errno));
		return NULL;
	}
	void *at = mmap(NULL, channel_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	return at == MAP_FAILED ? NULL : at;
}

// open_channel finds a channel by its name; NULL if there is no room for it.
static struct channel *open_channel(const char *name) {
	pthread_mutex_lock(&channels_lock);
	struct channel *c = NULL;
	for (int i = 0; i < opened && c == NULL; i++) {
		c = strcmp(channels[i]->name, name) == 0 ? channels[i] : NULL;
	}
	if (c == NULL && opened < MAX_CHANNELS) {
		c = calloc(1, sizeof *c);
		void *at = c == NULL ? NULL : map_channel(name);
		if (at == NULL) {
			free(c);
			pthread_mutex_unlock(&channels_lock);
			return NULL;
		}
		snprintf(c->name, sizeof c->name, "%s", name);
		c->head = at, c->number = opened;
		if (opened == 0) {
			gaugeblock_on_arrival(wait_for_channel);
			atexit(on_exit_channels);
		}
		channels[opened++] = c;
	}
	pthread_mutex_unlock(&channels_lock);
	return c;
}

// say adds a record to a channel of this process's.
static void say(struct channel *c, int state, const void *bytes, size_t size) {
	Head *h = c->head;
	h->writer = getpid();
	size_t end = h->end == 0 ? HEAD_BYTES : h->end;
	if (state == 0 || end + size + 4 * sizeof(Record) > channel_bytes) {
		state = 0, size = 0;
	}
	if (end + sizeof(Record) <= channel_bytes) {
		*(Record *)((char *)h + end) = (Record){(uint32_t)size, state};
		memcpy((char *)h + end + sizeof(Record), bytes, size);
		h->end = end + sizeof(Record) + (size + 7) / 8 * 8;
	}
	h->count++;
}

// ended: the process that says something there will say nothing more.
static int ended(const Head *h) { return h->gone || (h->writer != 0 && kill(h->writer, 0) != 0 && errno == ESRCH); }

static void wait_for_channel(int number, uint64_t count) {
	const Head *h = channels[number]->head;
	for (int i = 0; h->count < count && (i % 100 != 99 || !ended(h)); i++) {
		nanosleep(&(struct timespec){0, i < 100 ? 100000 : 1000000}, NULL);
	}
}

// heard waits for a record, counted from 1, and is it; NULL if its process has ended.
static const Record *heard(struct channel *c, uint64_t count) {
	wait_for_channel(c->number, count);
	const Head *h = c->head;
	if (h->count < count) {
		return NULL;
	}
	pthread_mutex_lock(&channels_lock);
	if (count > c->known) {
		size_t *more = realloc(c->records, (size_t)count * sizeof *more);
		if (more == NULL) {
			abort();
		}
		c->records = more;
		for (; c->known < count; c->known++) {
			size_t before = c->known == 0 ? 0 : c->records[c->known - 1];
			size_t bytes = before == 0 ? 0 : ((Record *)((char *)h + before))->bytes;
			c->records[c->known] = before == 0 ? HEAD_BYTES : before + sizeof(Record) + (bytes + 7) / 8 * 8;
		}
	}
	size_t at = c->records[count - 1];
	pthread_mutex_unlock(&channels_lock);
	return at + sizeof(Record) <= channel_bytes ? (const Record *)((char *)h + at) : NULL;
}

#endif
