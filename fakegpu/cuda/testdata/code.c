// Kernels that a compiler put into one binary are loaded together: by a model of durations only the first takes long. It
// prints for each of three launches whether it did.
#include "gaugeblock_cuda.h"

#include <stdio.h>

typedef struct { unsigned x, y, z; } Dim;
extern void **__cudaRegisterFatBinary(void *wrapper);
extern void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, void *, void *, void *, void *, int *);
extern int cudaLaunchKernel(const void *function, Dim grid, Dim block, void **arguments, size_t shared, void *stream);

// A fat binary with code for one architecture.
typedef struct { unsigned short kind, version; unsigned header; uint64_t bytes; unsigned packed, unused; unsigned short minor, major; unsigned architecture; } Piece;
static struct { unsigned magic; unsigned short version, header; uint64_t bytes; Piece piece; } binary = {
	0xba55ed50, 1, 16, sizeof(Piece), {2, 1, sizeof(Piece), 0, 0, 0, 0, 0, 80}};
static struct { unsigned magic, version; const void *pieces; const char *file; } wrapper = {0x466243b1, 1, &binary, NULL};

static char first, second, other;

int main(void) {
	const char *kernels[] = {&first, &second, &other};
	void **code = __cudaRegisterFatBinary(&wrapper), **alone = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(code, &first, NULL, "first", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(code, &second, NULL, "second", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(alone, &other, NULL, "other", -1, NULL, NULL, NULL, NULL, NULL);
	cudaEvent_t before, after;
	if (cudaEventCreate(&before) != 0 || cudaEventCreate(&after) != 0) {
		return 1;
	}
	for (int i = 0; i < 3; i++) {
		float milliseconds;
		Dim one = {1, 1, 1};
		// the event before marks the end of a kernel that has been loaded
		if ((i > 0 && cudaLaunchKernel(kernels[0], one, one, NULL, 0, NULL) != 0) || cudaEventRecord(before, NULL) != 0
			|| cudaLaunchKernel(kernels[i], one, one, NULL, 0, NULL) != 0 || cudaEventRecord(after, NULL) != 0
			|| cudaEventSynchronize(after) != 0 || cudaEventElapsedTime(&milliseconds, before, after) != 0) {
			return 1;
		}
		printf("%s%d", i > 0 ? " " : "", milliseconds > 3);
	}
	puts("");
	return 0;
}
