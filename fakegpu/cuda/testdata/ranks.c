// Three processes speak with each other by the fake NCCL. What is known of the devices' memory is in a table here,
// as python/values keeps it. Each checks what it gets and ends with 0; the answer is theirs.
#include "gaugeblock_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 3, INT64 = 4, SUM = 0, MOST = 2, ROOM = 64 };
typedef struct { char bytes[128]; } Id;
typedef int (*Settle)(void *, void *);
int ncclGetUniqueId(Id *), ncclCommInitRank(void **, int, Id, int), ncclCommSplit(void *, int, int, void **, void *), ncclCommDestroy(void *);
int ncclCommCount(void *, int *), ncclCommUserRank(void *, int *);
int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *), ncclAllGather(const void *, void *, size_t, int, void *, void *);
int ncclReduceScatter(const void *, void *, size_t, int, int, void *, void *), ncclAlltoAll(const void *, void *, size_t, int, void *, void *);
int ncclBroadcast(const void *, void *, size_t, int, int, void *, void *), ncclSend(const void *, size_t, int, int, void *, void *), ncclRecv(void *, size_t, int, int, void *, void *);
void gaugeblock_on_question(int (*)(const void *, size_t, void *)), gaugeblock_on_expectation(void (*)(void *, size_t, Settle, void *));

static long *from, *to;                    // of the device
static long brought[ROOM];                 // what is known of from
static Settle settle;
static void *expected;

static int question(const void *at, size_t bytes, void *into) {
	memcpy(into, (char *)brought + ((char *)at - (char *)from), bytes);
	return 2;
}

static void expectation(void *at, size_t bytes, Settle how, void *data) {
	(void)at, (void)bytes;
	settle = how, expected = data;
}

// gets checks what has come of a collective; -1: nothing is known.
static void gets(int line, int result, int state, int count, const long *want) {
	long got[ROOM] = {0};
	if (result != 0 || settle(expected, got) != state || (state != 0 && memcmp(got, want, (size_t)count * sizeof *got) != 0)) {
		printf("line %d: %d, got %ld %ld %ld\n", line, result, got[0], got[1], got[2]);
		exit(1);
	}
}
#define GETS(call, count, ...) gets(__LINE__, call, 2, count, (long[]){__VA_ARGS__})

static void bring(long a, long b, long c) { brought[0] = a, brought[1] = b, brought[2] = c; }

static int rank_of(int rank, Id id) {
	void *all, *part, *stream;
	int n, r;
	cudaSetDevice(rank);
	cudaMalloc((void **)&from, ROOM * sizeof(long));
	cudaMalloc((void **)&to, ROOM * sizeof(long));
	cudaStreamCreate((cudaStream_t *)&stream);
	gaugeblock_on_question(question), gaugeblock_on_expectation(expectation);
	if (ncclCommInitRank(&all, RANKS, id, rank) != 0) {
		return 2;
	}
	bring(rank + 1, 10 * rank, -rank);
	GETS(ncclAllReduce(from, to, 3, INT64, SUM, all, stream), 3, 6, 30, -3);
	GETS(ncclAllReduce(from, to, 3, INT64, MOST, all, stream), 3, 3, 20, 0);
	GETS(ncclAllGather(from, to, 1, INT64, all, stream), 3, 1, 2, 3);
	GETS(ncclBroadcast(from, to, 2, INT64, 1, all, stream), 2, 2, 10);
	GETS(ncclReduceScatter(from, to, 1, INT64, SUM, all, stream), 1, (long[]){6, 30, -3}[rank]);
	GETS(ncclAlltoAll(from, to, 1, INT64, all, stream), 3, (long[]){1, 0, 0}[rank], (long[]){2, 10, -1}[rank], (long[]){3, 20, -2}[rank]);
	ncclSend(from, 2, INT64, (rank + 1) % RANKS, all, stream);
	int left = (rank + 2) % RANKS;
	GETS(ncclRecv(to, 2, INT64, left, all, stream), 2, left + 1, 10 * left);
	// Ranks 0 and 2 split off, the other way round.
	if (ncclCommSplit(all, rank == 1 ? -1 : 7, -rank, &part, NULL) != 0 || (part == NULL) != (rank == 1)) {
		return 3;
	}
	if (part != NULL) {
		ncclCommCount(part, &n), ncclCommUserRank(part, &r);
		if (n != 2 || r != (rank == 0)) {
			return 4;
		}
		GETS(ncclAllGather(from, to, 1, INT64, part, stream), 2, 3, 1);
		ncclCommDestroy(part);
	}
	// The host waits for the slowest where it waits for the stream, by way of an event and another stream.
	void *other;
	cudaEvent_t event;
	cudaStreamCreate((cudaStream_t *)&other), cudaEventCreate(&event);
	struct timespec now;
	if (rank == 2) {
		nanosleep(&(struct timespec){0, 300000000}, NULL);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	brought[0] = now.tv_sec * 1000000000 + now.tv_nsec;
	ncclAllReduce(from, to, 1, INT64, MOST, all, stream);
	cudaEventRecord(event, stream), cudaStreamWaitEvent(other, event, 0);
	if (cudaEventQuery(event) != 0) {
		return 5; // in this order everything is over at once
	}
	cudaStreamSynchronize(other);
	long last = 0;
	settle(expected, &last);
	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec * 1000000000 + now.tv_nsec < last) {
		return 6;
	}
	// What a process has not said before it ends is not known, and nobody waits for it for ever.
	if (rank == 0) {
		exit(0);
	}
	gets(__LINE__, ncclAllReduce(from, to, 1, INT64, SUM, all, stream), 0, 1, NULL);
	return 0;
}

int main(void) {
	Id id;
	int failed = 0, status;
	ncclGetUniqueId(&id);
	for (int rank = 0; rank < RANKS; rank++) {
		if (fork() == 0) {
			exit(rank_of(rank, id));
		}
	}
	for (int rank = 0; rank < RANKS; rank++) {
		wait(&status);
		failed |= status;
	}
	return failed != 0;
}
