// The forms of C++ that CUDA's headers have beside C's: pointers of any type, and arguments left out; and
// copies between memory of a device and of the host on another device's stream.
#include <cuda_runtime.h>

#include <cstdio>

int main() {
	float *p = nullptr, *pinned = nullptr, *managed = nullptr, *pooled = nullptr, *seen = nullptr;
	cudaStream_t s;
	cudaEvent_t e;
	int wrong = 0;
	auto is = [&](cudaError_t r) { wrong += r != cudaSuccess; };
	is(cudaStreamCreate(&s));
	is(cudaEventCreate(&e, cudaEventDisableTiming));
	is(cudaMalloc(&p, 4096));
	is(cudaMallocHost(&pinned, 4096));
	is(cudaHostGetDevicePointer(&seen, pinned, 0));
	is(cudaMallocManaged(&managed, 4096));
	is(cudaStreamAttachMemAsync(s, managed));
	is(cudaMallocAsync(&pooled, 4096, s));
	is(cudaMemsetAsync(p, 0, 4096));
	is(cudaMemcpyAsync(pinned, p, 4096, cudaMemcpyDeviceToHost));
	is(cudaEventRecord(e));
	is(cudaStreamWaitEvent(s, e));
	is(cudaFreeAsync(pooled, s));
	is(cudaStreamSynchronize(s));
	is(cudaFree(p));
	is(cudaFreeHost(pinned));
	is(cudaFree(managed));

	// Between memory of one device and managed memory, on a stream of another.
	cudaStream_t t;
	is(cudaSetDevice(1));
	is(cudaMallocAsync(&pooled, 4096, nullptr));
	is(cudaMemset(pooled, 7, 4096));
	is(cudaDeviceSynchronize());
	is(cudaSetDevice(0));
	is(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	is(cudaMallocManaged(&managed, 4096));
	is(cudaMemcpyAsync(managed, pooled, 4096, cudaMemcpyDefault, t));
	is(cudaMemcpyAsync(pooled, managed, 4096, cudaMemcpyDefault, t));
	is(cudaStreamSynchronize(t));
	wrong += *reinterpret_cast<char *>(managed) != 7;
	is(cudaFree(managed));
	std::printf("%d wrong\n", wrong);
	return wrong;
}
