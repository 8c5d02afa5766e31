// Two streams fill the same memory. With a function of the host between the two, whose effect the host
// has seen, they are in order; without it they are not.
//
// usage: seen device|pinned|managed [function]
#include "gaugeblock_cuda.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int called;
static void sets(void *data) { *(volatile int *)data = 1; }

int main(int count, char **words) {
	cudaStream_t s, t;
	void *p = NULL;
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
	if (strcmp(words[1], "device") == 0) {
		cudaMalloc(&p, 4096);
	} else if (strcmp(words[1], "pinned") == 0) {
		cudaMallocHost(&p, 4096);
	} else {
		cudaMallocManaged(&p, 4096, cudaMemAttachGlobal);
	}
	if (cudaMemsetAsync(p, 1, 4096, s) != cudaSuccess) return 1;
	if (count > 2) {
		cudaLaunchHostFunc(s, sets, (void *)&called);
		while (!called) usleep(100); // without a call of CUDA
	}
	if (cudaMemsetAsync(p, 2, 4096, t) != cudaSuccess) return 1;
	cudaDeviceSynchronize();
	printf("%d hazards\n", gaugeblock_hazards());
	return 0;
}
