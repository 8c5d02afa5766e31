// taichi's UnifiedAllocator on a real GPU: three requests, the third of which ends outside of the chunk, in memory
// that another allocation of the driver has. STUBS takes raw memory from cudaMalloc.
//
//	nvcc -x cu -std=c++17 -ISTUBS -ISRC real.cu SRC/taichi/rhi/common/unified_allocator.cpp -o real
#include "taichi/rhi/device.h"
#include "taichi/rhi/common/host_memory_pool.h"
#include <cstdio>
#include <vector>
using namespace taichi::lang;

__global__ void fill(char *at, size_t bytes) {
	for (size_t i = threadIdx.x; i < bytes; i += blockDim.x) at[i] = 2;
}

int main() {
	const size_t chunk = 4 << 20;
	HostMemoryPoolTestHelper::set(chunk);
	HostMemoryPool &pool = HostMemoryPool::get_instance();
	UnifiedAllocator *a = pool.make();
	char *first = (char *)pool.allocate(a, 1 << 20, 256, false);
	char *neighbour = nullptr;
	cudaMalloc((void **)&neighbour, chunk);
	cudaMemset(neighbour, 1, chunk);
	pool.allocate(a, 1096740, 256, false);
	char *third = (char *)pool.allocate(a, 2097150, 256, false);
	printf("the third request ends %zd bytes behind the chunk; the neighbour begins %zd behind it\n",
		third + 2097150 - (first + chunk), neighbour - (first + chunk));
	printf("fill: %s\n", cudaGetErrorName(cudaMemset(third, 2, 2097150)));
	fill<<<1, 256>>>(third, 2097150);
	printf("wait for a kernel that fills it: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	std::vector<char> bytes(chunk);
	printf("copy: %s\n", cudaGetErrorName(cudaMemcpy(bytes.data(), neighbour, chunk, cudaMemcpyDeviceToHost)));
	size_t overwritten = 0;
	for (char b : bytes) overwritten += b != 1;
	printf("bytes of the neighbour that are overwritten: %zu\n", overwritten);
	return 0;
}
