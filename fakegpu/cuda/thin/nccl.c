// Collectives are pieces of work on their streams. Between the processes of a machine small contents are
// exchanged, if they are known (python/values), and the host waits for others where NCCL's would. A process
// that is alone takes others to have what it has. Ranks of one process do so too.
#include "thin.h"
#include "peers.h"
#include "nccl_channels.h"
#include <stdatomic.h>

typedef struct { char bytes[128]; } Id;
enum { NCCL_VERSION = 22800, NAME_BYTES = 48 };
struct communicator {
	int ranks, rank, splits;
	char name[NAME_BYTES];
	uint64_t collectives; // of this rank so far
	struct channel **of;  // by rank; NULL: nobody is there to speak with
	void *memory[144];
	int pieces;
	int first, works, sends;
};

// What NCCL takes of a device beside the program's tensors: with the first communicator 954,269,696 bytes, and when a
// rank first sends to another or receives, as measured on two H200s (NCCL 2.28.9, driver 580). That of further
// communicators is an estimate.
//
// Where the program's memory lies depends on it, which decides among equal blocks. So it is taken in the pieces that
// were seen there: the first communicator leaves a hole of 180 MiB, and NCCL's buffers come when ranks first speak.
//
// The driver has one area for the local memory of kernels, as large as the kernel needs that needs most so far. When one
// comes that needs more, it takes a larger area elsewhere and leaves a hole where the smaller one was. A context has 504
// MiB; kernels that gather, reduce and scatter need 690, that which broadcasts 694, and that which sends and receives 982.
// DDP first gathers and then broadcasts, which leaves the holes of both. The second handle of cuBLAS takes 64 MiB of the
// newest hole, and is in these bytes.
enum { MIB = 1 << 20, CHUNK = 32 * MIB, REST = 46202880, HANDLE = 64 * MIB, CHANNELS = 24, BUFFER = 10 * MIB, FLAGS = 2 * MIB };
enum { OF_CONTEXT = 504, OF_COLLECTIVES = 690, OF_BROADCAST = 694, OF_SENDS = 982 }; // local memory in MiB
static const size_t hole_at_start = 180 * MIB, further_bytes = 301989888;
static _Atomic int communicators, senders, local;
static void *_Atomic contexts_memory, *_Atomic handle;

// The last request for which there was no memory, in bytes, and what was free. python/site asks.
static _Atomic uint64_t lacking, left;
GAUGEBLOCK_API void gaugeblock_nccl_lacks(uint64_t to[2]) {
	to[0] = lacking;
	to[1] = left;
}

static int take(void **memory, size_t bytes) {
	WORDS((uint64_t)gaugeblock_current_runtime(), bytes);
	int r = gaugeblock_do(GAUGEBLOCK_MALLOC, w);
	*memory = (void *)w[2];
	if (r != 0) {
		lacking = bytes;
		left = gaugeblock_do(GAUGEBLOCK_MEM_INFO, w) == 0 ? w[1] : 0;
	}
	return r == 0 ? 0 : FAILED;
}

// keep takes a piece until the communicator ends.
static int keep(struct communicator *c, size_t bytes) {
	return c->pieces == sizeof c->memory / sizeof *c->memory ? FAILED : take(&c->memory[c->pieces++], bytes);
}

static void give_back(void *memory) {
	WORDS(P(memory));
	if (memory != NULL) {
		gaugeblock_do(GAUGEBLOCK_FREE, w);
	}
}

// hollow takes a piece that is a hole later, and what the driver's chunk has beside it.
static int hollow(struct communicator *c, void **hole, size_t bytes) {
	int r = take(hole, bytes);
	return r != 0 ? r : keep(c, CHUNK - bytes % CHUNK);
}

// start takes the memory of a communicator.
static int start(struct communicator *c) {
	if (communicators++ > 0) {
		return keep(c, further_bytes);
	}
	void *area, *hole;
	c->first = 1;
	int r = keep(c, REST);
	r = r != 0 ? r : hollow(c, &area, (size_t)OF_CONTEXT * MIB);
	if (r != 0) {
		return r;
	}
	local = OF_CONTEXT;
	give_back(atomic_exchange(&contexts_memory, area));
	r = hollow(c, &hole, hole_at_start);
	if (r == 0) {
		give_back(hole);
	}
	return r;
}

// buffers are those between ranks, for so many channels.
static int buffers(struct communicator *c, int channels) {
	int r = 0;
	for (int i = 0; i < channels && r == 0; i++) {
		r = keep(c, BUFFER);
		r = r != 0 ? r : keep(c, FLAGS);
	}
	return r;
}

// connect_all is before the first collective.
static int connect_all(struct communicator *c) {
	int r = 0;
	for (int i = 0; i < 2 * CHANNELS && r == 0; i++) {
		r = keep(c, i < CHANNELS ? BUFFER : FLAGS);
	}
	return r != 0 ? r : buffers(c, CHANNELS);
}

// needs is before a kernel that needs so much local memory, in MiB. What the area has more than before is kept, in whole
// chunks.
static int needs(struct communicator *c, int most) {
	int before = local;
	do {
		if (most <= before) {
			return 0;
		}
	} while (!atomic_compare_exchange_weak(&local, &before, most));
	size_t more = ((size_t)(most - before) * MIB + CHUNK / 2) / CHUNK * CHUNK;
	int r = more == 0 ? 0 : keep(c, more);
	void *hole = NULL;
	if (before == OF_CONTEXT) {
		hole = atomic_exchange(&contexts_memory, NULL);
	} else if (r == 0) {
		r = hollow(c, &hole, (size_t)before * MIB);
	}
	give_back(hole);
	if (r == 0 && most != OF_SENDS) { // then NCCL's buffers fill the hole first
		void *first = NULL;
		r = take(&first, HANDLE);
		r = r != 0 ? r : tell_of_handle(GAUGEBLOCK_OF_NCCL);
		give_back(atomic_exchange(&handle, first));
	}
	return r;
}

// channel_of is that in which a rank speaks, to all or to one.
static struct channel *channel_of(const struct communicator *c, int from, int to) {
	char name[96];
	snprintf(name, sizeof name, to < 0 ? "%s.%d" : "%s.%d-%d", c->name, from, to);
	return open_channel(name);
}

static int join(struct communicator **made, int ranks, int rank, const char *name) {
	int r = make((void **)made);
	if (r != 0) {
		return r;
	}
	struct communicator *c = *made;
	*c = (struct communicator){.ranks = ranks, .rank = rank};
	if (ranks == 1) {
		return 0;
	}
	if (name != NULL && !alone()) {
		snprintf(c->name, sizeof c->name, "%s", name);
		c->of = calloc((size_t)ranks, sizeof *c->of);
		for (int i = 0; i < ranks; i++) {
			c->of[i] = channel_of(c, i, -1);
			if (c->of[i] == NULL) {
				return FAILED;
			}
		}
	}
	return start(c);
}

API ncclGetVersion(int *version) {
	NEEDS(version)
	*version = NCCL_VERSION;
	return 0;
}

// An id is a name that no other process gives.
API ncclGetUniqueId(Id *id) {
	NEEDS(id)
	static _Atomic int given;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	memset(id, 0, sizeof *id);
	snprintf(id->bytes, NAME_BYTES, "%x.%lx.%x", (unsigned)getpid(), (unsigned long)now.tv_nsec, (unsigned)given++);
	return 0;
}

API ncclCommInitRank(struct communicator **made, int ranks, Id id, int rank) { return join(made, ranks, rank, id.bytes); }

API ncclCommInitRankConfig(struct communicator **made, int ranks, Id id, int rank, void *config) {
	(void)config;
	return join(made, ranks, rank, id.bytes);
}

API ncclCommInitRankScalable(struct communicator **made, int ranks, int rank, int ids, Id *id, void *config) {
	NEEDS(id)
	(void)config;
	return join(made, ranks, rank, ids > 0 ? id->bytes : NULL);
}

API ncclCommInitAll(struct communicator **made, int ranks, const int *devices) {
	NEEDS(made)
	(void)devices;
	int r = 0;
	for (int i = 0; i < ranks && r == 0; i++) {
		r = join(&made[i], ranks, i, NULL);
	}
	return r;
}

typedef struct { int colour, key; } Split;

// A split is agreed upon: each rank says its colour and its key, and those of one colour are in the order of their
// keys. Who is alone takes all to have the same colour.
API ncclCommSplit(struct communicator *c, int colour, int key, struct communicator **made, void *config) {
	NEEDS(c, made)
	(void)config;
	Split own = {colour, key};
	int ranks = 0, rank = 0, split = c->splits++;
	*made = NULL;
	if (c->of == NULL) {
		return colour < 0 ? 0 : join(made, c->ranks, c->rank, NULL);
	}
	say(c->of[c->rank], 2, &own, sizeof own);
	c->collectives++;
	for (int i = 0; i < c->ranks; i++) {
		const Record *other = heard(c->of[i], c->collectives);
		if (other == NULL || other->bytes != sizeof own) {
			return FAILED;
		}
		const Split *s = (const Split *)(other + 1);
		ranks += s->colour == colour;
		rank += s->colour == colour && (s->key < key || (s->key == key && i < c->rank));
	}
	char name[NAME_BYTES];
	snprintf(name, sizeof name, "%.30s_%x.%x", c->name, split, (unsigned)colour);
	return colour < 0 ? 0 : join(made, ranks, rank, name);
}

API ncclCommShrink(struct communicator *c, int *without, int count, struct communicator **made, void *config, int flags) {
	NEEDS(c)
	(void)without, (void)config, (void)flags;
	return join(made, c->ranks - count, c->rank < c->ranks - count ? c->rank : 0, NULL);
}

static int leave(struct communicator *c) {
	if (c == NULL) {
		return 0;
	}
	communicators -= c->pieces > 0;
	senders -= c->sends;
	while (c->pieces > 0) {
		give_back(c->memory[--c->pieces]);
	}
	free(c->of);
	return unmake(c);
}

API ncclCommDestroy(struct communicator *c) { return leave(c); }
API ncclCommAbort(struct communicator *c) { return leave(c); }

API ncclCommCount(struct communicator *c, int *ranks) {
	NEEDS(c, ranks)
	*ranks = c->ranks;
	return 0;
}

API ncclCommUserRank(struct communicator *c, int *rank) {
	NEEDS(c, rank)
	*rank = c->rank;
	return 0;
}

API ncclCommGetAsyncError(void *c, int *error) {
	NEEDS(c, error)
	(void)c;
	*error = 0;
	return 0;
}

GAUGEBLOCK_API const char *ncclGetErrorString(int status) { return status == 0 ? "no error" : "an error of the fake GPU's NCCL"; }
GAUGEBLOCK_API const char *ncclGetLastError(void *c) {
	(void)c;
	return lacking == 0 ? "" : "Cuda failure 2 'out of memory'"; // as NCCL has it
}

API ncclMemAlloc(void **ptr, size_t bytes) {
	NEEDS(ptr)
	return take(ptr, bytes);
}

API ncclMemFree(void *ptr) {
	WORDS(P(ptr));
	return gaugeblock_do(GAUGEBLOCK_FREE, w) == 0 ? 0 : FAILED;
}

// bytes_of is the size of so many numbers of a type.
static size_t bytes_of(size_t count, int type) {
	static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	return type >= 0 && type < (int)sizeof sizes ? count * sizes[type] : 0;
}

#include "nccl_exchange.h"

// A collective is a piece of work. LINK is how much slower bytes go between devices than within one.
enum { LINK = 16 };
static int give(const char *name, size_t bytes, void *stream) { return gaugeblock_launch_sized(name, stream, LINK * bytes, 0) == 0 ? 0 : FAILED; }

static int collective(const char *name, struct communicator *c, int local_memory, size_t bytes, void *stream) {
	int r = c->first && c->works++ == 0 ? connect_all(c) : 0;
	r = r != 0 || c->ranks == 1 ? r : needs(c, local_memory);
	return r == 0 ? give(name, bytes, stream) : FAILED;
}

API ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, struct communicator *c, void *stream) {
	NEEDS(c)
	size_t bytes = bytes_of(count, type);
	exchange(c, stream, &(Exchange){REDUCE, type, operation, -1, from, to, bytes, 0, bytes});
	return collective("ncclAllReduce", c, OF_COLLECTIVES, bytes, stream);
}

API ncclReduceScatter(const char *from, void *to, size_t count, int type, int operation, struct communicator *c, void *stream) {
	NEEDS(c)
	size_t bytes = bytes_of(count, type);
	exchange(c, stream, &(Exchange){REDUCE, type, operation, -1, from, to, bytes * (size_t)c->ranks, bytes * (size_t)c->rank, bytes});
	return collective("ncclReduceScatter", c, OF_COLLECTIVES, bytes * (size_t)c->ranks, stream);
}

API ncclAllGather(const void *from, char *to, size_t count, int type, struct communicator *c, void *stream) {
	NEEDS(c)
	size_t bytes = bytes_of(count, type);
	exchange(c, stream, &(Exchange){GATHER, type, 0, -1, from, to, bytes, 0, bytes});
	return collective("ncclAllGather", c, OF_COLLECTIVES, bytes * (size_t)c->ranks, stream);
}

API ncclAlltoAll(const char *from, char *to, size_t count, int type, struct communicator *c, void *stream) {
	NEEDS(c)
	size_t bytes = bytes_of(count, type);
	exchange(c, stream, &(Exchange){GATHER, type, 0, -1, from, to, bytes * (size_t)c->ranks, bytes * (size_t)c->rank, bytes});
	return collective("ncclAlltoAll", c, OF_SENDS, bytes * (size_t)c->ranks, stream);
}

API ncclBroadcast(const void *from, void *to, size_t count, int type, int root, struct communicator *c, void *stream) {
	NEEDS(c)
	size_t bytes = bytes_of(count, type);
	exchange(c, stream, &(Exchange){ROOT, type, 0, root, from, to, bytes, 0, bytes});
	return collective("ncclBroadcast", c, OF_BROADCAST, bytes, stream);
}

API ncclBcast(void *buffer, size_t count, int type, int root, struct communicator *c, void *stream) {
	return ncclBroadcast(buffer, buffer, count, type, root, c, stream);
}

API ncclReduce(const void *from, void *to, size_t count, int type, int operation, int root, struct communicator *c, void *stream) {
	NEEDS(c)
	size_t bytes = bytes_of(count, type);
	exchange(c, stream, &(Exchange){REDUCE, type, operation, -1, from, c->rank == root ? to : NULL, bytes, 0, bytes});
	return collective("ncclReduce", c, OF_COLLECTIVES, bytes, stream);
}

// sends: this rank sends to another alone, or receives.
enum { PAIRS = 12 };
static int sends(struct communicator *c) {
	if (c->sends || c->ranks == 1) {
		return 0;
	}
	c->sends = 1;
	int r = 0;
	if (senders++ == 0) {
		r = buffers(c, PAIRS);
		r = r != 0 ? r : keep(c, BUFFER);
	}
	return r != 0 ? r : needs(c, OF_SENDS);
}

API ncclSend(const void *from, size_t count, int type, int peer, struct communicator *c, void *stream) {
	NEEDS(c)
	if (sends(c) != 0) {
		return FAILED;
	}
	sent(c, peer, from, bytes_of(count, type));
	return give("ncclSend", bytes_of(count, type), stream);
}

API ncclRecv(void *to, size_t count, int type, int peer, struct communicator *c, void *stream) {
	NEEDS(c)
	if (sends(c) != 0) {
		return FAILED;
	}
	received(c, peer, to, bytes_of(count, type), stream);
	return give("ncclRecv", bytes_of(count, type), stream);
}
