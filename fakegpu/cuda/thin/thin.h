// The libraries above CUDA (cublas and its like), as far as memory is concerned: handles know
// their streams, work is a piece of work on the stream, and what they compute is not computed.
// What is not written here by hand is made from the lists in names/ (../thin.go).
#ifndef GAUGEBLOCK_THIN_H
#define GAUGEBLOCK_THIN_H

#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API GAUGEBLOCK_API int

// What all libraries' handles are here. The mark tells a handle from what else a function may
// have as its first argument.
struct handle {
	uint64_t mark;
	void *stream;
	int pointer_mode, math_mode;
};
enum { HANDLE_MARK = 0x6762 };

// make gives something new that has no meaning but its address; descriptors are at most so large.
enum { OBJECT_BYTES = 4096, FAILED = 1 };

// What a program must not leave out is answered as NVIDIA's libraries do: NO_HANDLE and INVALID are each library's own
// numbers (../thin.go).
#define NEEDS_HANDLE(h) \
	if ((h) == NULL) { \
		return NO_HANDLE; \
	}
#define NEEDS(...) \
	if (any_null((const void *[]){__VA_ARGS__}, sizeof(const void *[]){__VA_ARGS__} / sizeof(void *))) { \
		return INVALID; \
	}
__attribute__((unused)) static int any_null(const void **of, size_t count) {
	size_t i = 0;
	while (i < count && of[i] != NULL) {
		i++;
	}
	return i < count;
}

__attribute__((unused)) static int make(void **made) {
	NEEDS(made)
	*made = calloc(1, OBJECT_BYTES);
	return *made == NULL ? FAILED : 0;
}

__attribute__((unused)) static int make_handle(struct handle **made) {
	int r = make((void **)made);
	if (r == 0) {
		(*made)->mark = HANDLE_MARK;
	}
	return r;
}

// work is done on the stream of a handle, or on the default stream if it has none. Without a handle nearly all functions
// of NVIDIA's libraries refuse it (on an H200 275 of 281 that do work; four crash).
__attribute__((unused)) static int work(const struct handle *h, const char *name) {
	NEEDS_HANDLE(h)
	return gaugeblock_launch_kernel(name, h->mark == HANDLE_MARK ? h->stream : NULL) == 0 ? 0 : FAILED;
}

// quarters is the logarithm of a size to the base 2, in quarters.
__attribute__((unused)) static int quarters(long long size) {
	if (size < 1) {
		return 0;
	}
	int whole = 63 - __builtin_clzll((unsigned long long)size);
	double rest = (double)size / (double)(1LL << whole);
	return 4 * whole + (rest >= 1.189207) + (rest >= 1.414214) + (rest >= 1.681793);
}

// multiply is a product of matrices, so many times. Tensor cores make other types than single precision faster: NVIDIA says
// of an H200 989 and 67 TFLOPS. Of those, shapes that are alike have one kernel: of 20 shapes of 10 sizes, 15 had one of
// their own, and none of the last four, whose size was within a fifth of another's.
enum { OF_SINGLE = 0, OF_DOUBLE = 1, TENSOR = 15, LONGEST_NAME = 160 };
__attribute__((unused)) static int multiply(void *stream, const char *name, long long m, long long n, long long k, long long count, int type) {
	uint64_t operations = 2 * (uint64_t)m * (uint64_t)n * (uint64_t)k * (uint64_t)count / (type == OF_SINGLE || type == OF_DOUBLE ? 1 : TENSOR);
	uint64_t elements = ((uint64_t)m * (uint64_t)k + (uint64_t)k * (uint64_t)n + (uint64_t)m * (uint64_t)n) * (uint64_t)count;
	char shaped[LONGEST_NAME];
	if (type != OF_SINGLE && type != OF_DOUBLE) {
		snprintf(shaped, sizeof shaped, "%s of %dx%dx%d", name, quarters(m), quarters(n), quarters(k));
		name = shaped;
	}
	return gaugeblock_launch_sized(name, stream, elements * (type == OF_SINGLE ? 4 : 2), operations) == 0 ? 0 : FAILED;
}

// unmake frees what make has made.
__attribute__((unused)) static int unmake(void *made) {
	free(made);
	return 0;
}

// tell_of_handle says that a handle was made for which the driver takes memory.
__attribute__((unused)) static int tell_of_handle(enum gaugeblock_handle of) {
	WORDS((uint64_t)gaugeblock_current_runtime(), (uint64_t)of);
	return gaugeblock_do(GAUGEBLOCK_HANDLE, w) == 0 ? 0 : FAILED;
}

#define HANDLES(create, destroy, set_stream) \
	API create(struct handle **h) { return make_handle(h); } \
	HANDLES_END(destroy, set_stream)

// Of some the driver takes memory for each.
#define LARGE_HANDLES(of, create, destroy, set_stream) \
	API create(struct handle **h) { \
		int r = tell_of_handle(of); \
		return r != 0 ? r : make_handle(h); \
	} \
	HANDLES_END(destroy, set_stream)

#define HANDLES_END(destroy, set_stream) \
	API destroy(struct handle *h) { return unmake(h); } \
	API set_stream(struct handle *h, void *stream) { \
		NEEDS_HANDLE(h) \
		h->stream = stream; \
		return 0; \
	}

#endif
