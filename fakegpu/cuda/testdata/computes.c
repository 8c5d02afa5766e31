// Kernels that the host computes, on memory that it reaches at the device's own addresses
// (GAUGEBLOCK_CUDA_BYTES=host). It prints what was otherwise than it should be.
#include "gaugeblock_cuda.h"

#include <signal.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int wrong;
#define IS(what, want) is(__LINE__, #what, (long)(what), (long)(want))
static void is(int line, const char *what, long got, long want) {
	if (got != want) {
		printf("line %d: %s is %ld, not %ld\n", line, what, got, want);
		wrong++;
	}
}

enum { N = 1 << 16 };
struct add {
	const float *x, *y;
	float *sum;
};

static void add(void *data) {
	const struct add *a = data;
	for (int i = 0; i < N; i++) a->sum[i] = a->x[i] + a->y[i];
}

static int launch_add(cudaStream_t s, struct add *a) {
	gaugeblock_range reads[] = {{a->x, N * sizeof(float)}, {a->y, N * sizeof(float)}}, writes[] = {{a->sum, N * sizeof(float)}};
	gaugeblock_kernel k = {"add", reads, 2, writes, 1, add, a};
	return gaugeblock_compute(s, &k);
}

// sums: a kernel in a stream, held, and then in a graph.
static void sums(void) {
	static float in[N], out[N];
	struct add a;
	float *x, *y, *sum;
	cudaStream_t s;
	for (int i = 0; i < N; i++) in[i] = (float)i;
	IS(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), 0);
	IS(cudaMalloc((void **)&x, sizeof in), 0);
	IS(cudaMalloc((void **)&y, sizeof in), 0);
	IS(cudaMalloc((void **)&sum, sizeof in), 0);
	a = (struct add){x, y, sum};
	IS(cudaMemcpyAsync(x, in, sizeof in, cudaMemcpyHostToDevice, s), 0);
	IS(cudaMemcpyAsync(y, x, sizeof in, cudaMemcpyDeviceToDevice, s), 0);
	IS(gaugeblock_busy(s), 0);
	IS(launch_add(s, &a), 0);
	IS(sum[1000], 0); // new memory holds zeros, and the kernel has not run
	IS(gaugeblock_drain(s), 0);
	IS(sum[1000], 2000);
	IS(cudaMemcpyAsync(out, sum, sizeof out, cudaMemcpyDeviceToHost, s), 0);
	IS(cudaStreamSynchronize(s), 0);
	IS(out[N - 1], 2 * (N - 1));

	cudaGraph_t graph;
	cudaGraphExec_t exec;
	IS(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), 0);
	a.y = sum; // at each launch sum grows by x
	IS(launch_add(s, &a), 0);
	IS(cudaStreamEndCapture(s, &graph), 0);
	IS(cudaGraphInstantiate(&exec, graph, 0), 0);
	IS(cudaGraphLaunch(exec, s), 0);
	IS(cudaGraphLaunch(exec, s), 0);
	IS(cudaStreamSynchronize(s), 0);
	IS(sum[1000], 4000);
	IS(cudaMemsetAsync(sum, 0xff, 8, s), 0);
	IS(((unsigned char *)sum)[7], 0xff);
	IS(sum[2], 8);
	IS(cudaGraphExecDestroy(exec), 0);
	IS(cudaGraphExecDestroy(NULL), cudaErrorInvalidValue);
	IS(cudaGraphDestroy(graph), 0);
	IS(cudaFree(x), 0);
	IS(cudaFree(y), 0);
	IS(cudaFree(sum), 0);
	IS(cudaStreamDestroy(s), 0);
}

int cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags);
int cuMemAddressFree(CUdeviceptr ptr, size_t size);
int cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const void *prop, unsigned long long flags);
int cuMemRelease(CUmemGenericAllocationHandle handle);
int cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags);
int cuMemUnmap(CUdeviceptr ptr, size_t size);
int cuMemSetAccess(CUdeviceptr ptr, size_t size, const void *desc, size_t count);
typedef struct { int type, handles; struct { int type, id; } location; void *meta; unsigned char flags[8]; } allocation;
typedef struct { struct { int type, id; } location; int flags; } access;

static sigjmp_buf back;
static void segfault(int signal) {
	(void)signal;
	siglongjmp(back, 1);
}

// reaches reports whether the host can read an address.
static int reaches(const volatile char *p) {
	struct sigaction now = {.sa_handler = segfault}, before;
	sigaction(SIGSEGV, &now, &before);
	int can = sigsetjmp(back, 1) == 0 ? ((void)*p, 1) : 0;
	sigaction(SIGSEGV, &before, NULL);
	return can;
}

// pages: one page at two addresses is the same memory; what is unmapped is not there.
static void pages(void) {
	enum { size = 2 << 20 };
	CUdeviceptr range;
	CUmemGenericAllocationHandle page;
	allocation what = {.type = 1, .handles = 1, .location = {1, 0}};
	access all = {{1, 0}, 3};
	IS(cuMemAddressReserve(&range, 2 * size, 0, 0, 0), 0);
	IS(cuMemCreate(&page, size, &what, 0), 0);
	IS(cuMemMap(range, size, 0, page, 0), 0);
	IS(cuMemMap(range + size, size, 0, page, 0), 0);
	IS(cuMemSetAccess(range, 2 * size, &all, 1), 0);
	volatile char *one = (volatile char *)(uintptr_t)range, *two = one + size; // the compiler does not know that they are one
	one[5] = 42;
	IS(two[5], 42);
	IS(cudaMemset((void *)two, 7, 10), 0);
	IS(cudaDeviceSynchronize(), 0);
	IS(one[5], 7);
	IS(cuMemUnmap(range, size), 0);
	IS(two[5], 7);
	IS(reaches(two), 1);
	IS(reaches(one), 0);
	IS(cuMemUnmap(range + size, size), 0);
	IS(cuMemRelease(page), 0);
	IS(cuMemAddressFree(range, 2 * size), 0);
	char *p;
	IS(cudaMalloc((void **)&p, size), 0);
	IS(reaches(p + size - 1), 1);
	IS(cudaFree(p), 0);
	IS(reaches(p), 0);
}

// shared_memory is how much of the process's memory is shared, in bytes.
static long shared_memory(void) {
	char line[256];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (f != NULL && fgets(line, sizeof line, f) != NULL) sscanf(line, "RssShmem: %ld", &kib);
	if (f != NULL) fclose(f);
	return kib < 0 ? -1 : kib << 10;
}

static void bounded(void) {
	void *p, *q;
	IS(cudaMalloc(&p, (size_t)200 << 20), 0);
	IS(cudaMalloc(&q, (size_t)100 << 20), 2); // GAUGEBLOCK_CUDA_MEMORY=256MiB
	(void)cudaGetLastError();
	IS(cudaFree(p), 0);
	for (int i = 0; i < 8; i++) { // the host's memory is given back
		IS(cudaMalloc(&p, (size_t)200 << 20), 0);
		IS(cudaMemset(p, i, (size_t)200 << 20), 0);
		IS(cudaDeviceSynchronize(), 0);
		IS(((char *)p)[12345], i);
		IS(cudaFree(p), 0);
	}
	IS(shared_memory() < 100 << 20, 1);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// speed prints how fast 64 MiB are copied, in GB a second.
static void speed(void) {
	const size_t bytes = (size_t)64 << 20;
	char *host = malloc(bytes), *p, *q;
	memset(host, 1, bytes);
	IS(cudaMalloc((void **)&p, bytes), 0);
	IS(cudaMalloc((void **)&q, bytes), 0);
	for (int round = 0; round < 2; round++) {
		double began = now();
		IS(cudaMemcpy(p, host, bytes, cudaMemcpyHostToDevice), 0);
		double in = now();
		IS(cudaMemcpy(q, p, bytes, cudaMemcpyDeviceToDevice), 0);
		double within = now();
		IS(cudaMemcpy(host, q, bytes, cudaMemcpyDeviceToHost), 0);
		double out = now();
		memcpy(p, host, bytes);
		double direct = now();
		if (round == 1) {
			fprintf(stderr, "GB/s: in %.1f, within %.1f, out %.1f, memcpy by the host %.1f\n", 1e-9 * (double)bytes / (in - began),
				1e-9 * (double)bytes / (within - in), 1e-9 * (double)bytes / (out - within), 1e-9 * (double)bytes / (direct - out));
		}
	}
	IS(p[bytes - 1], 1);
	IS(cudaFree(p), 0);
	IS(cudaFree(q), 0);
	free(host);
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "without") == 0) {
		gaugeblock_kernel k = {"add", NULL, 0, NULL, 0, add, NULL};
		IS(gaugeblock_bytes_in_host(), 0);
		IS(gaugeblock_compute(NULL, &k), 801);
	} else {
		IS(gaugeblock_bytes_in_host(), 1);
		sums();
		pages();
		bounded();
		if (argc > 1) speed();
	}
	printf("%d wrong\n", wrong);
	return wrong > 0;
}
