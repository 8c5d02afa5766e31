// torch_memory_saver's pause while a kernel is running, on a real GPU: what happens to the
// kernel, how long pause takes, and what a backup to host memory contains.
//
//	nvcc -std=c++17 -DUSE_CUDA -DTMS_HOOK_MODE_TORCH real.cu SRC/csrc/{core,entrypoint,api_forwarder,disk_backend}.cpp -lcuda -o real
//	./real plain|queued|other|quiet|backup|quietbackup
#include <cuda_runtime.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/types.h>
extern "C" {
void *tms_torch_malloc(ssize_t bytes, int device, cudaStream_t stream);
void tms_torch_free(void *ptr, ssize_t bytes, int device, cudaStream_t stream);
void tms_set_interesting_region(bool);
void tms_set_current_tag(const char *tag);
void tms_set_enable_cpu_backup(bool);
int tms_pause(const char *tag);
int tms_resume(const char *tag);
}
// After some time, all bytes are set, over and over for some more time.
__global__ void late(unsigned char *p, size_t n, unsigned char value, long long wait, int rounds) {
	const long long begin = clock64();
	while (clock64() - begin < wait) {}
	for (int k = 0; k < rounds; k++)
		for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < n; i += (size_t)blockDim.x * gridDim.x) ((volatile unsigned char *)p)[i] = value;
}
static double now() {
	using namespace std::chrono;
	return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}
int main(int argc, char **argv) {
	setvbuf(stdout, nullptr, _IONBF, 0);
	const char *mode = argc > 1 ? argv[1] : "plain";
	const bool backup = strcmp(mode, "backup") == 0, quiet = strcmp(mode, "quiet") == 0, queued = strcmp(mode, "queued") == 0;
	const bool elsewhere = strcmp(mode, "other") == 0; // the work uses other memory
	cudaStream_t s;
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	tms_set_interesting_region(true);
	tms_set_current_tag("weights");
	tms_set_enable_cpu_backup(backup || strcmp(mode, "quietbackup") == 0);
	const size_t n = 4 << 20;
	unsigned char *p = (unsigned char *)tms_torch_malloc(n, 0, s);
	unsigned char *other = nullptr;
	cudaMalloc((void **)&other, n);
	printf("%s: memory at %p\n", mode, (void *)p);
	cudaMemsetAsync(p, 1, n, s);
	cudaDeviceSynchronize();
	// About 200 ms at 1.7 GHz; "queued": that much work on other memory first.
	if (queued) {
		late<<<1, 32, 0, s>>>(other, n, 3, 300000000LL, 0);
		late<<<4, 256, 0, s>>>(p, n, 2, 0, 50);
	} else if (elsewhere) {
		late<<<1, 32, 0, s>>>(other, n, 3, 300000000LL, 0);
	} else {
		late<<<4, 256, 0, s>>>(p, n, 2, 300000000LL, 50);
	}
	printf("%s: launched: %s\n", mode, cudaGetErrorName(cudaGetLastError()));
	if (quiet || strcmp(mode, "quietbackup") == 0) cudaDeviceSynchronize();
	const double begin = now();
	tms_pause("weights");
	const double paused = now();
	const cudaError_t running = cudaStreamQuery(s);
	printf("%s: pause took %.3f ms; the stream after it: %s\n", mode, paused - begin, cudaGetErrorName(running));
	const cudaError_t end = cudaDeviceSynchronize();
	printf("%s: cudaDeviceSynchronize after pause: %s (%.1f ms after pause began)\n", mode, cudaGetErrorName(end), now() - begin);
	if (end != cudaSuccess) return 0;
	tms_resume("weights");
	printf("%s: resumed: %s\n", mode, cudaGetErrorName(cudaGetLastError()));
	unsigned char *host = (unsigned char *)malloc(n);
	const cudaError_t copied = cudaMemcpy(host, p, n, cudaMemcpyDeviceToHost);
	size_t ones = 0, twos = 0;
	for (size_t i = 0; i < n; i++) ones += host[i] == 1, twos += host[i] == 2;
	printf("%s: copy %s; bytes that are 1: %zu, 2 (what the kernel writes): %zu, of %zu\n", mode, cudaGetErrorName(copied), ones, twos, n);
	return 0;
}
