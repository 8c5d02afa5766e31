// NCCL on a GPU with too little memory: what it says of the request for which there was none.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cuda_runtime.h"

int ncclCommInitAll(void **communicators, int count, const int *devices);
const char *ncclGetLastError(void *communicator);
void gaugeblock_nccl_lacks(uint64_t to[2]);

int main(void) {
	enum { MIB = 1 << 20 };
	uint64_t lacks[2] = {1, 1};
	void *memory = NULL, *both[2] = {NULL, NULL};
	size_t available = 0, whole = 0;
	const int devices[2] = {0, 1};
	gaugeblock_nccl_lacks(lacks);
	printf("before: %d bytes lack, error \"%s\"\n", (int)lacks[0], ncclGetLastError(NULL));
	cudaMemGetInfo(&available, &whole);
	printf("all but 100 MiB: %d\n", cudaMalloc(&memory, available - 100 * MIB));
	printf("init: %s\n", ncclCommInitAll(both, 2, devices) == 0 ? "done" : "an error");
	gaugeblock_nccl_lacks(lacks);
	cudaMemGetInfo(&available, &whole);
	printf("after: a request of %d MiB, with %d MiB free, error \"%s\"\n", (int)(lacks[0] / MIB), (int)(lacks[1] / MIB), ncclGetLastError(NULL));
	return 0;
}
