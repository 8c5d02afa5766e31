// CUB's CachingDeviceAllocator of the toolkit on a real GPU: a block is found by another
// thread after it is in the cache and before its event is recorded. With FORCED the record
// waits until the other thread has allocated; without, nothing is held up.
//
//	nvcc -std=c++17 [-DFORCED] real.cu -lpthread -o real
#include <cuda_runtime.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#ifdef FORCED
static std::atomic<int> stage{0}; // 0 nothing is held up; 1 the next record waits; 2 it waits; 3 it may go on
static cudaError_t held_record(cudaEvent_t e, cudaStream_t s) {
	int one = 1;
	if (stage.compare_exchange_strong(one, 2)) {
		while (stage.load() != 3) std::this_thread::yield();
	}
	return cudaEventRecord(e, s);
}
#endif
#include <cub/version.cuh>
#include <map>
#include <set>
#include <mutex>
#ifdef FORCED
#define cudaEventRecord held_record
#endif
#include <cub/util_allocator.cuh>
#ifdef FORCED
#undef cudaEventRecord
#endif

__global__ void late(unsigned *p, size_t n, unsigned value, long long wait) {
	const long long begin = clock64();
	while (clock64() - begin < wait) {}
	for (size_t i = threadIdx.x; i < n; i += blockDim.x) ((volatile unsigned *)p)[i] = value;
}
__global__ void check(const unsigned *p, size_t n, unsigned value, unsigned *wrong) {
	for (size_t i = threadIdx.x; i < n; i += blockDim.x)
		if (((const volatile unsigned *)p)[i] != value) atomicAdd(wrong, 1u);
}

int main() {
	setvbuf(stdout, nullptr, _IONBF, 0);
	printf("CUB_VERSION %d\n", CUB_VERSION);
	cub::CachingDeviceAllocator a;
	const size_t n = 1024, bytes = n * sizeof(unsigned);
#ifdef FORCED
	cudaStream_t s, t;
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
	unsigned *p = nullptr, *q = nullptr;
	a.DeviceAllocate((void **)&p, bytes, s);
	late<<<1, 256, 0, s>>>(p, n, 1u, 300000000LL);
	stage = 1;
	std::thread first([&] { printf("free: %s\n", cudaGetErrorName(a.DeviceFree(p))); });
	while (stage.load() != 2) std::this_thread::yield();
	a.DeviceAllocate((void **)&q, bytes, t);
	stage = 3;
	first.join();
	printf("forced: the first stream's memory %p, the second's %p; the first stream: %s\n", (void *)p, (void *)q, cudaGetErrorName(cudaStreamQuery(s)));
	cudaMemsetAsync(q, 7, bytes, t);
	unsigned before[2] = {}, after[2] = {};
	cudaMemcpyAsync(before, q, 8, cudaMemcpyDeviceToHost, t);
	cudaStreamSynchronize(t);
	cudaStreamSynchronize(s);
	cudaMemcpyAsync(after, q, 8, cudaMemcpyDeviceToHost, t);
	cudaStreamSynchronize(t);
	printf("forced: the second stream wrote %#x; its memory when the first stream is done: %#x\n", before[0], after[0]);
#else
	const int threads = 4;
	std::atomic<long> allocations{0}, refused{0};
	std::atomic<bool> stop{false};
	unsigned *wrong = nullptr;
	cudaMalloc((void **)&wrong, threads * sizeof(unsigned));
	cudaMemset(wrong, 0, threads * sizeof(unsigned));
	std::vector<std::thread> all;
	for (int k = 0; k < threads; k++) {
		all.emplace_back([&, k] {
			cudaStream_t s;
			cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
			for (unsigned round = 1; !stop.load(); round++) {
				unsigned *p = nullptr;
				if (a.DeviceAllocate((void **)&p, bytes, s) != cudaSuccess) {
					refused++;
					continue;
				}
				const unsigned value = (unsigned)k << 28 | (round & 0xfffffff);
				late<<<1, 256, 0, s>>>(p, n, value, 20000LL);
				check<<<1, 256, 0, s>>>(p, n, value, wrong + k);
				a.DeviceFree(p);
				allocations++;
				if (round % 200 == 0) cudaStreamSynchronize(s); // the queue must not become too long
			}
			cudaStreamSynchronize(s);
		});
	}
	std::this_thread::sleep_for(std::chrono::seconds(20));
	stop = true;
	for (auto &t : all) t.join();
	unsigned host[threads] = {};
	cudaMemcpy(host, wrong, sizeof host, cudaMemcpyDeviceToHost);
	unsigned long sum = 0;
	for (unsigned w : host) sum += w;
	printf("natural: %ld allocations by %d threads in 20 s, %ld refused; words that another stream had written: %lu; last error %s\n",
		allocations.load(), threads, refused.load(), sum, cudaGetErrorName(cudaGetLastError()));
#endif
	return 0;
}
