// Two streams and a forgotten event: the second stream copies what the first one writes, and
// nothing makes it wait.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#define CHECK(call) \
	if (cudaError_t e = (call); e != cudaSuccess) { \
		std::printf("%s: %s\n", #call, cudaGetErrorString(e)); \
		return 2; \
	}

int main(int argc, char **argv) {
	const bool remembered = argc > 1 && std::strcmp(argv[1], "remembered") == 0;
	char *a, *b, back[4] = {};
	cudaStream_t first, second;
	cudaEvent_t written;
	CHECK(cudaMalloc((void **)&a, 1 << 20));
	CHECK(cudaMalloc((void **)&b, 1 << 20));
	CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
	CHECK(cudaMemsetAsync(a, 7, 1 << 20, first));
	CHECK(cudaEventRecord(written, first));
	if (remembered) CHECK(cudaStreamWaitEvent(second, written, 0));
	CHECK(cudaMemcpyAsync(b, a, 1 << 20, cudaMemcpyDeviceToDevice, second));
	CHECK(cudaMemcpyAsync(back, b, 4, cudaMemcpyDeviceToHost, second));
	CHECK(cudaStreamSynchronize(second));
	std::printf("%d %d %d %d\n", back[0], back[1], back[2], back[3]);
	return 0;
}
