// What is copied out of a device whose bytes nobody keeps, into each kind of memory of the host; and
// copies between memory of the host, which has its bytes.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#define CHECK(call) \
	if (cudaError_t e = (call); e != cudaSuccess) { \
		std::printf("%s: %s\n", #call, cudaGetErrorString(e)); \
		return 2; \
	}

int main() {
	const size_t bytes = 4096;
	char *device, *host[4];
	host[0] = static_cast<char *>(std::malloc(bytes));
	host[1] = static_cast<char *>(std::aligned_alloc(4096, bytes));
	CHECK(cudaMalloc((void **)&device, bytes));
	CHECK(cudaHostRegister(host[1], bytes, 0));
	CHECK(cudaMallocHost((void **)&host[2], bytes));
	CHECK(cudaMallocManaged((void **)&host[3], bytes, cudaMemAttachGlobal));
	for (cudaMemcpyKind kind : {cudaMemcpyDeviceToHost, cudaMemcpyDefault}) {
		for (char *to : host) {
			std::memset(to, 7, bytes);
			CHECK(cudaMemcpyAsync(device, to, bytes, cudaMemcpyDefault, 0));
			CHECK(cudaMemcpyAsync(to, device, bytes, kind, 0));
			CHECK(cudaDeviceSynchronize());
			std::printf("%d%d ", to[0], to[bytes - 1]);
		}
	}
	std::memset(host[2], 5, bytes);
	for (int to : {0, 1, 3}) {
		CHECK(cudaMemcpyAsync(host[to], host[2], bytes, cudaMemcpyDefault, 0));
		CHECK(cudaDeviceSynchronize());
		std::printf("%d%d ", host[to][0], host[to][bytes - 1]);
	}
	std::memset(host[0], 3, bytes);
	for (int to : {1, 2, 3}) {
		CHECK(cudaMemcpyAsync(host[to], host[0], bytes, cudaMemcpyDefault, 0));
		CHECK(cudaDeviceSynchronize());
		std::printf("%d%d ", host[to][0], host[to][bytes - 1]);
	}
	std::printf("\n");
	return 0;
}
