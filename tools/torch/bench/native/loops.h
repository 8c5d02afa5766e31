// The workloads on PyTorch's allocator, as loops in C++: Go calls once for many operations.
#ifndef GAUGEBLOCK_LOOPS_H
#define GAUGEBLOCK_LOOPS_H

#include <stdint.h>

typedef struct {
	uint64_t bytes;      // of each request of a pair; 0: it is churn
	uint64_t live;       // blocks of each thread
	uint64_t small_only; // the sizes of the small workload
	uint64_t threads;
	uint64_t seed;       // of the first thread; each later one has the next
} loops_workload;

// Some of the statistics of device 0, over all pools.
typedef struct {
	int64_t allocations, frees;
	int64_t allocated_bytes, requested_bytes; // sums of all increases
	int64_t reserved_bytes;                   // at present
	int64_t heap_bytes;                       // not a statistic: the C library's heap in use by the process
} loops_figures;

enum { LOOPS_TEXT = 4096, LOOPS_MAX_THREADS = 16 };

// What all functions share. They return 0, or 1 and an error in text.
typedef struct {
	loops_workload workload;
	uint64_t steps;
	uint64_t nanoseconds; // the time of day that the slowest thread took
	loops_figures figures;
	char text[LOOPS_TEXT]; // settings, or the error; a zero at its end
} loops_call;

enum {
	LOOPS_START,     // text: settings
	LOOPS_CONFIGURE, // text: settings
	LOOPS_BEGIN,     // workload: its blocks are allocated, and each replaced twice on average
	LOOPS_RUN,       // steps of every thread -> nanoseconds
	LOOPS_END,       // everything is freed, and the cache emptied
	LOOPS_FIGURES,   // -> figures
	LOOPS_PART,      // workload.bytes: which of the parts below, steps
};

// Parts of an operation, made alone.
enum {
	PART_NOTHING,         // the loop
	PART_ENTRY,           // raw_alloc_with_stream of 0 bytes and raw_delete of nothing
	PART_RUNTIME_DEVICE,  // cudaGetDevice
	PART_C10_DEVICE,      // c10::cuda::GetDevice, which calls it
	PART_RECURSIVE_MUTEX, // lock and unlock
	PART_MUTEX,           // lock and unlock
	PART_HEAP,            // new and delete of 128 bytes
};

typedef int (*loops_function)(int operation, loops_call *call);

#endif
