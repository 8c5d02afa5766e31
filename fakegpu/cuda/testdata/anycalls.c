// The frame of a program that calls functions of CUDA at random; anycalls_test.go writes the cases from
// the headers. Arguments: a mode, a seed, and how many calls.
#include <cuda_runtime.h>
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANDLES = 64, PLACES = 1 << 16 };

static _Thread_local uint64_t state = 1;
static _Thread_local void *handles[HANDLES]; // some of them were destroyed
static _Thread_local void *addresses[HANDLES]; // none of them was freed
static _Thread_local unsigned kept;
static _Thread_local uint64_t place[PLACES / 8];
static _Thread_local uint64_t pointed[PLACES / 8];
static _Thread_local uint64_t memory[PLACES / 8];
static int trace;

// What a fuzzer gives is drawn first: a byte, or four where there are more choices.
static _Thread_local const unsigned char *given;
static _Thread_local size_t left;

static unsigned draw(unsigned n) {
	size_t size = n <= 256 ? 1 : 4;
	if (left >= size) {
		unsigned number = 0;
		memcpy(&number, given, size);
		given += size, left -= size;
		return number % n;
	}
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static void *draw_handle(void) {
	switch (draw(8)) {
	case 0: return NULL;
	case 1: return (void *)(uintptr_t)(1 + draw(2)); // the default streams
	case 2: return (void *)(uintptr_t)0x123450; // no handle
	}
	return handles[draw(HANDLES)];
}

// Memory of the host, at least as large as any size that is drawn, or of the device.
static void *draw_memory(void) {
	switch (draw(6)) {
	case 0: return NULL;
	case 1: return memory;
	}
	char *known = addresses[draw(HANDLES)];
	return known ? known + 512 * draw(2) : memory;
}

// Where a result is to be written, or a structure or list is read.
enum { OF_NUMBERS, OF_POINTERS, OF_NOTHING };
static void *draw_place(int kind) {
	if (draw(6) == 0)
		return NULL;
	for (unsigned i = 0; i < 64; i++)
		place[i] = kind == OF_POINTERS ? (uintptr_t)pointed : kind == OF_NOTHING || draw(3) ? 0 : draw(4);
	return place;
}

static void *draw_struct(void) {
	for (unsigned i = 0; i < 64; i++) {
		place[i] = draw(3) ? draw(4) : (uint64_t)draw(1u << 30) << 34;
		if (place[i] >> 32)
			place[i] |= draw(1u << 30);
	}
	return place;
}

static size_t draw_size(void) {
	static const size_t sizes[] = {0, 1, 511, 512, 4096, 1 << 15};
	return sizes[draw(6)];
}

static int64_t draw_number(void) {
	static const int64_t numbers[] = {0, 0, 1, 1, 2, 3, 4, 7, 8, 16, 100, -1, 0x7fffffff, -0x7fffffff - 1};
	return numbers[draw(14)];
}

static const char *draw_text(void) {
	static const char *const texts[] = {NULL, "", "cuInit", "cuMemAlloc", "kernel", "/dev/null", "/no/such/file", "%s%n"};
	return texts[draw(8)];
}

static void nothing(void *data) { (void)data; }
static void nothing_of_stream(cudaStream_t stream, cudaError_t error, void *data) { (void)stream, (void)error, (void)data; }

static void keep(void **list, void *handle) {
	enum { PAGES_THAT_NOBODY_HAS = 1 << 20 };
	if (handle && handle != (void *)pointed && (list == handles || (uintptr_t)handle >= PAGES_THAT_NOBODY_HAS))
		list[kept++ % HANDLES] = handle;
}

static void forget(void *address) {
	for (unsigned i = 0; i < HANDLES; i++)
		if (addresses[i] == address)
			addresses[i] = NULL;
}

static void forget_all(void) { memset(addresses, 0, sizeof addresses); }

// With the variable TRACE it is told which call does not return, and what the others answer.
static void calling(const char *name) {
	if (trace)
		fprintf(stderr, "%s", name);
}

// A number for what a call has written. Handles and addresses, which differ from run to run, count as one.
static unsigned written(void) {
	unsigned sum = 2166136261u;
	for (unsigned i = 0; i < 64; i++)
		sum = (sum ^ (place[i] >> 32 ? 1 : (unsigned)place[i])) * 16777619u;
	return sum;
}

static int called(int result) {
	if (trace)
		fprintf(stderr, " = %d %08x\n", result, written());
	return result;
}

// Functions that the libraries have and the headers do not.
struct three { unsigned x, y, z; };
@DECLARATIONS@
static void call(void) {
	switch (draw(@COUNT@)) {
@CASES@
	}
}

static void calls(unsigned n) {
	while (n--)
		call();
}

static unsigned seed, many;

static void *thread(void *number) {
	state = seed * 1000 + (uintptr_t)number;
	calls(many / 20);
	return NULL;
}

#ifdef FUZZER
// The calls of a fuzzer. The device begins anew with each.
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
	forget_all(), memset(handles, 0, sizeof handles), kept = 0, state = 1;
	given = data, left = size, trace = getenv("TRACE") != NULL;
	while (left > 0)
		call();
	cudaDeviceReset();
	return 0;
}
#else
static void at_exit(void) { calls(many / 20); }

int main(int count, char **arguments) {
	const char *mode = arguments[1];
	seed = state = (unsigned)atoi(arguments[2]);
	many = (unsigned)atoi(arguments[3]);
	trace = getenv("TRACE") != NULL;
	alarm(300);
	if (!strcmp(mode, "exit"))
		atexit(at_exit);
	if (!strcmp(mode, "threads")) {
		for (uintptr_t round = 0; round < 5; round++) {
			pthread_t threads[4];
			for (uintptr_t i = 0; i < 4; i++)
				pthread_create(&threads[i], NULL, thread, (void *)(4 * round + i + 1));
			for (unsigned i = 0; i < 4; i++)
				pthread_join(threads[i], NULL);
		}
	} else if (!strcmp(mode, "pinned")) { // the sanitizers leave it a place
		void *p = NULL;
		if (cudaMallocHost(&p, 4096) != 0 || memset(p, 1, 4096) == NULL || cudaFreeHost(p) != 0)
			return 1;
	} else if (!strcmp(mode, "fork")) {
		for (unsigned i = 0; i < 8; i++) {
			calls(many / 8);
			pid_t child = fork();
			if (child == 0) {
				alarm(60);
				void *p;
				if (cudaMalloc(&p, 512) != cudaErrorInitializationError)
					_exit(2); // a child has no CUDA
				calls(100);
				_exit(0);
			}
			int status = 0;
			waitpid(child, &status, 0);
			if (status != 0) {
				printf("child %u ended with %d\n", i, status);
				return 1;
			}
		}
	} else {
		calls(many);
	}
	puts("every call returned");
	return 0;
}
#endif
