// Collectives are pieces of work on their streams. Nothing is sent: every rank is a process of its own,
// with a machine of its own. Of a communicator with one rank they are copies; of one with more, the
// others are taken to have what this one has.
#include "thin.h"

typedef struct { char bytes[128]; } Id;
struct communicator { int ranks, rank; };
enum { NCCL_VERSION = 22800 };

static int join(struct communicator **made, int ranks, int rank) {
	int r = make((void **)made);
	if (r == 0) {
		**made = (struct communicator){ranks, rank};
	}
	return r;
}

API ncclGetVersion(int *version) {
	*version = NCCL_VERSION;
	return 0;
}

API ncclGetUniqueId(Id *id) {
	memset(id, 0, sizeof *id);
	return 0;
}

API ncclCommInitRank(struct communicator **made, int ranks, Id id, int rank) {
	(void)id;
	return join(made, ranks, rank);
}

API ncclCommInitRankConfig(struct communicator **made, int ranks, Id id, int rank, void *config) {
	(void)id, (void)config;
	return join(made, ranks, rank);
}

API ncclCommInitRankScalable(struct communicator **made, int ranks, int rank, int ids, Id *id, void *config) {
	(void)ids, (void)id, (void)config;
	return join(made, ranks, rank);
}

API ncclCommInitAll(struct communicator **made, int ranks, const int *devices) {
	(void)devices;
	int r = 0;
	for (int i = 0; i < ranks && r == 0; i++) {
		r = join(&made[i], ranks, i);
	}
	return r;
}

// How many ranks have the same colour is known to nobody here: the new communicator has all of
// them.
API ncclCommSplit(struct communicator *c, int colour, int key, struct communicator **made, void *config) {
	(void)key, (void)config;
	if (colour < 0) {
		*made = NULL;
		return 0;
	}
	return join(made, c->ranks, c->rank);
}

API ncclCommShrink(struct communicator *c, int *without, int count, struct communicator **made, void *config, int flags) {
	(void)without, (void)config, (void)flags;
	return join(made, c->ranks - count, c->rank < c->ranks - count ? c->rank : 0);
}

API ncclCommDestroy(void *c) { return unmake(c); }
API ncclCommAbort(void *c) { return unmake(c); }

API ncclCommCount(struct communicator *c, int *ranks) {
	*ranks = c->ranks;
	return 0;
}

API ncclCommUserRank(struct communicator *c, int *rank) {
	*rank = c->rank;
	return 0;
}

API ncclCommGetAsyncError(void *c, int *error) {
	(void)c;
	*error = 0;
	return 0;
}

GAUGEBLOCK_API const char *ncclGetErrorString(int status) { return status == 0 ? "no error" : "an error of the fake GPU's NCCL"; }
GAUGEBLOCK_API const char *ncclGetLastError(void *c) {
	(void)c;
	return "";
}

API ncclMemAlloc(void **ptr, size_t bytes) {
	WORDS((uint64_t)gaugeblock_current_runtime(), bytes);
	int r = gaugeblock_do(GAUGEBLOCK_MALLOC, w);
	*ptr = (void *)w[2];
	return r == 0 ? 0 : FAILED;
}

API ncclMemFree(void *ptr) {
	WORDS(P(ptr));
	return gaugeblock_do(GAUGEBLOCK_FREE, w) == 0 ? 0 : FAILED;
}

static int collective(const char *name, void *stream) { return gaugeblock_launch_kernel(name, stream) == 0 ? 0 : FAILED; }

// bytes_of is the size of so many numbers of a type.
static size_t bytes_of(size_t count, int type) {
	static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	return type >= 0 && type < (int)sizeof sizes ? count * sizes[type] : 0;
}

static void copied(void *to, const void *from, size_t bytes, int sure) {
	if (bytes > 0 && to != from) {
		gaugeblock_transferred(to, from, bytes, sure);
	}
}

API ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, struct communicator *c, void *stream) {
	(void)operation;
	copied(to, from, bytes_of(count, type), c->ranks == 1);
	return collective("ncclAllReduce", stream);
}

API ncclReduceScatter(const char *from, void *to, size_t count, int type, int operation, struct communicator *c, void *stream) {
	(void)operation;
	size_t bytes = bytes_of(count, type);
	copied(to, from + bytes * (size_t)c->rank, bytes, c->ranks == 1);
	return collective("ncclReduceScatter", stream);
}

API ncclAllGather(const void *from, char *to, size_t count, int type, struct communicator *c, void *stream) {
	size_t bytes = bytes_of(count, type);
	for (int rank = 0; rank < c->ranks; rank++) {
		copied(to + bytes * (size_t)rank, from, bytes, rank == c->rank);
	}
	return collective("ncclAllGather", stream);
}

API ncclAlltoAll(const char *from, char *to, size_t count, int type, struct communicator *c, void *stream) {
	size_t bytes = bytes_of(count, type);
	for (int rank = 0; rank < c->ranks; rank++) {
		copied(to + bytes * (size_t)rank, from + bytes * (size_t)c->rank, bytes, rank == c->rank);
	}
	return collective("ncclAlltoAll", stream);
}

API ncclBroadcast(const void *from, void *to, size_t count, int type, int root, struct communicator *c, void *stream) {
	copied(to, from, bytes_of(count, type), c->rank == root);
	return collective("ncclBroadcast", stream);
}

API ncclBcast(void *buffer, size_t count, int type, int root, struct communicator *c, void *stream) {
	return ncclBroadcast(buffer, buffer, count, type, root, c, stream);
}

API ncclReduce(const void *from, void *to, size_t count, int type, int operation, int root, struct communicator *c, void *stream) {
	(void)operation;
	if (c->rank == root) {
		copied(to, from, bytes_of(count, type), c->ranks == 1);
	}
	return collective("ncclReduce", stream);
}

API ncclSend(const void *from, size_t count, int type, int peer, void *c, void *stream) {
	(void)from, (void)count, (void)type, (void)peer, (void)c;
	return collective("ncclSend", stream);
}

API ncclRecv(void *to, size_t count, int type, int peer, void *c, void *stream) {
	(void)to, (void)count, (void)type, (void)peer, (void)c;
	return collective("ncclRecv", stream);
}
