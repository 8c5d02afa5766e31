// Questions about events, their times, events of other processes, and memory of the driver's
// pools in captures. It prints each call with its answer. A real device answers in the same
// way: questions.txt has what an H200 says. On one it is compiled with CUDA's headers,
//
//	nvcc -x cu -DREAL_DEVICE questions.c -o questions
#ifdef REAL_DEVICE
#include <cuda_runtime.h>
#else
#include "gaugeblock_cuda.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAY(call) (printf("%-72s %d\n", #call, (int)(call)), fflush(stdout))
#define TELL(what, value) (printf("%-72s %lld\n", what, (long long)(value)), fflush(stdout))

// hold keeps what is given to a stream from being done, until let_go.
#ifdef REAL_DEVICE
static volatile int gate[2];
static void CUDART_CB waits(void *gate) {
	while (*(volatile int *)gate == 0) usleep(100);
}
static void hold(cudaStream_t s, int which) {
	gate[which] = 0;
	cudaLaunchHostFunc(s, waits, (void *)&gate[which]);
}
static void let_go(cudaStream_t s, int which) {
	(void)s;
	gate[which] = 1;
}
#else
static void hold(cudaStream_t s, int which) {
	(void)which;
	gaugeblock_busy(s);
}
static void let_go(cudaStream_t s, int which) {
	(void)which;
	gaugeblock_drain(s);
}
#endif

static cudaStream_t s, t;

static void times(void) {
	cudaEvent_t e, f, g, other;
	float ms = -1;
	printf("== times\n");
	SAY(cudaEventCreate(&e));
	SAY(cudaEventCreate(&f));
	SAY(cudaEventCreateWithFlags(&g, cudaEventDisableTiming));
	SAY(cudaEventElapsedTime(&ms, e, f));
	SAY(cudaEventRecord(e, s));
	SAY(cudaEventElapsedTime(&ms, e, f));
	SAY(cudaEventRecord(f, s));
	SAY(cudaEventSynchronize(f));
	SAY(cudaEventElapsedTime(&ms, e, f));
	TELL("the second comes no earlier", ms >= 0);
	SAY(cudaEventElapsedTime(&ms, f, e));
	TELL("and the other way round no later", ms <= 0);
	SAY(cudaEventElapsedTime(&ms, e, e));
	TELL("from one to itself", ms == 0);
	SAY(cudaEventRecord(g, s));
	SAY(cudaEventSynchronize(g));
	SAY(cudaEventElapsedTime(&ms, e, g));
	SAY(cudaEventElapsedTime(&ms, g, e));
	SAY(cudaEventElapsedTime(NULL, e, f));
	hold(s, 0);
	SAY(cudaEventRecord(f, s));
	SAY(cudaEventElapsedTime(&ms, e, f));
	SAY(cudaEventElapsedTime(&ms, f, e));
	SAY(cudaEventElapsedTime(&ms, f, g));
	SAY(cudaGetLastError());
	let_go(s, 0);
	SAY(cudaStreamSynchronize(s));
	SAY(cudaEventElapsedTime(&ms, e, f));
	TELL("the second comes later", ms > 0);
	SAY(cudaEventRecord(f, t));
	SAY(cudaEventSynchronize(f));
	SAY(cudaEventElapsedTime(&ms, e, f));
	SAY(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
	SAY(cudaEventRecord(f, s));
	SAY(cudaEventElapsedTime(&ms, e, f));
	cudaGraph_t graph;
	SAY(cudaStreamEndCapture(s, &graph));
	SAY(cudaEventElapsedTime(&ms, e, f));
	SAY(cudaGetLastError());
	int devices = 0;
	cudaGetDeviceCount(&devices);
	if (devices > 1) {
		cudaSetDevice(1);
		SAY(cudaEventCreate(&other));
		SAY(cudaEventRecord(other, 0));
		SAY(cudaEventSynchronize(other));
		SAY(cudaEventElapsedTime(&ms, e, other));
		SAY(cudaEventElapsedTime(&ms, other, e));
		SAY(cudaEventDestroy(other));
		cudaSetDevice(0);
	}
	SAY(cudaEventDestroy(e));
	SAY(cudaEventDestroy(f));
	SAY(cudaEventDestroy(g));
	(void)cudaGetLastError();
}

// memory asks about cudaMallocAsync and cudaFreeAsync in captures.
static void memory(void) {
	void *p = NULL, *q = NULL, *out = NULL;
	cudaGraph_t graph;
	cudaGraphExec_t exec, second;
	size_t n = 0;
	enum cudaStreamCaptureStatus status;
	printf("== memory in captures\n");
	SAY(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	SAY(cudaMallocAsync(&p, 4096, s));
	TELL("an address was given", p != NULL);
	SAY(cudaMemsetAsync(p, 1, 4096, s));
	SAY(cudaFreeAsync(p, s));
	SAY(cudaStreamIsCapturing(s, &status));
	TELL("status", status);
	SAY(cudaStreamEndCapture(s, &graph));
	SAY(cudaGraphGetNodes(graph, NULL, &n));
	TELL("nodes", n);
	cudaGraphNode_t nodes[8];
	if (n > 8) n = 8;
	SAY(cudaGraphGetNodes(graph, nodes, &n));
	for (size_t i = 0; i < n; i++) {
		enum cudaGraphNodeType type;
		cudaGraphNodeGetType(nodes[i], &type);
		TELL("type of a node", type);
	}
	SAY(cudaGraphInstantiate(&exec, graph, 0));
	SAY(cudaGraphLaunch(exec, s));
	SAY(cudaGraphLaunch(exec, s));
	SAY(cudaStreamSynchronize(s));
	SAY(cudaGraphInstantiate(&second, graph, 0));
	(void)cudaGetLastError();
	SAY(cudaGraphExecDestroy(exec));
	SAY(cudaGraphDestroy(graph));

	printf("== memory that outlives its graph\n");
	SAY(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	SAY(cudaMallocAsync(&q, 4096, s));
	SAY(cudaMemsetAsync(q, 2, 4096, s));
	SAY(cudaStreamEndCapture(s, &graph));
	SAY(cudaGraphInstantiate(&exec, graph, 0));
	SAY(cudaFree(q));
	(void)cudaGetLastError();
	SAY(cudaGraphLaunch(exec, s));
	SAY(cudaGraphLaunch(exec, s));
	(void)cudaGetLastError();
	unsigned char byte = 0;
	SAY(cudaMemcpyAsync(&byte, q, 1, cudaMemcpyDeviceToHost, s));
	SAY(cudaStreamSynchronize(s));
	TELL("it holds", byte);
	SAY(cudaFreeAsync(q, s));
	SAY(cudaGraphLaunch(exec, s));
	SAY(cudaStreamSynchronize(s));
	SAY(cudaFree(q));
	SAY(cudaFree(q));
	(void)cudaGetLastError();
	SAY(cudaGraphLaunch(exec, s));
	SAY(cudaGraphExecDestroy(exec));
	SAY(cudaGraphDestroy(graph));
	SAY(cudaStreamSynchronize(s));
	SAY(cudaFreeAsync(q, s));
	(void)cudaGetLastError();

	printf("== memory of outside\n");
	SAY(cudaMallocAsync(&out, 4096, s));
	SAY(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	SAY(cudaFreeAsync(out, s));
	SAY(cudaStreamIsCapturing(s, &status));
	TELL("status", status);
	SAY(cudaStreamEndCapture(s, &graph));
	(void)cudaGetLastError();
	SAY(cudaFreeAsync(out, s));
	SAY(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	SAY(cudaMallocAsync(&p, 4096, t));
	(void)cudaGetLastError();
	SAY(cudaStreamIsCapturing(s, &status));
	TELL("status", status);
	SAY(cudaFreeAsync(p, t));
	(void)cudaGetLastError();
	SAY(cudaStreamIsCapturing(s, &status));
	TELL("status", status);
	SAY(cudaMallocAsync(&q, 0, s));
	SAY(cudaMallocAsync(&q, (size_t)1 << 50, s));
	(void)cudaGetLastError();
	SAY(cudaStreamIsCapturing(s, &status));
	TELL("status", status);
	SAY(cudaStreamEndCapture(s, &graph));
	(void)cudaGetLastError();
	SAY(cudaStreamSynchronize(s));
	SAY(cudaStreamSynchronize(t));
	unsigned long long used = 0;
	SAY(cudaDeviceGraphMemTrim(0));
	SAY(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
	TELL("memory that graphs use", used);
}

static int down[2], up[2];
static void tell(const void *data, size_t bytes, int to) {
	if (write(to, data, bytes) != (ssize_t)bytes) exit(3);
}
static void hear(void *data, size_t bytes, int from) {
	if (read(from, data, bytes) != (ssize_t)bytes) exit(4);
}

// other is the second process's part: it opens the events of the first.
static void other(void) {
	cudaIpcEventHandle_t handle;
	cudaEvent_t e;
	char word = 0;
	float ms;
	hear(&handle, sizeof handle, 0);
	SAY(cudaIpcOpenEventHandle(&e, handle));
	SAY(cudaEventQuery(e));
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	SAY(cudaStreamWaitEvent(s, e, 0));
	SAY(cudaStreamQuery(s));
	SAY(cudaEventElapsedTime(&ms, e, e));
	(void)cudaGetLastError();
	tell(&word, 1, 9);
	hear(&word, 1, 0); // the first process has let go
	SAY(cudaEventSynchronize(e));
	SAY(cudaEventQuery(e));
	SAY(cudaStreamSynchronize(s));
	hold(s, 1);
	SAY(cudaEventRecord(e, s));
	SAY(cudaEventQuery(e));
	tell(&word, 1, 9);
	hear(&word, 1, 0); // the first process has asked
	let_go(s, 1);
	SAY(cudaStreamSynchronize(s));
	SAY(cudaEventQuery(e));
	SAY(cudaIpcGetEventHandle(&handle, e));
	SAY(cudaEventDestroy(e));
	tell(&word, 1, 9);
}

// shared asks about events of another process.
static void shared(const char *program) {
	cudaEvent_t plain, timed, e, again;
	cudaIpcEventHandle_t handle;
	char word = 0;
	printf("== events of several processes\n");
	SAY(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
	SAY(cudaIpcGetEventHandle(&handle, plain));
	SAY(cudaEventCreateWithFlags(&timed, cudaEventInterprocess));
	(void)cudaGetLastError();
	SAY(cudaEventCreateWithFlags(&e, cudaEventInterprocess | cudaEventDisableTiming));
	SAY(cudaIpcGetEventHandle(&handle, e));
	SAY(cudaIpcOpenEventHandle(&again, handle));
	(void)cudaGetLastError();
	hold(s, 0);
	SAY(cudaEventRecord(e, s));
	fflush(stdout);
	if (pipe(down) != 0 || pipe(up) != 0) exit(5);
	pid_t child = fork();
	if (child == 0) {
		dup2(down[0], 0);
		dup2(up[1], 9);
		execl(program, program, "other", NULL);
		exit(6);
	}
	tell(&handle, sizeof handle, down[1]);
	hear(&word, 1, up[0]);
	printf("-- the first process\n");
	let_go(s, 0);
	SAY(cudaStreamSynchronize(s));
	printf("-- the second process\n");
	fflush(stdout);
	tell(&word, 1, down[1]);
	hear(&word, 1, up[0]); // it has recorded the event in a stream that is held
	printf("-- the first process\n");
	SAY(cudaEventQuery(e));
	SAY(cudaStreamWaitEvent(s, e, 0));
	SAY(cudaStreamQuery(s));
	printf("-- the second process\n");
	fflush(stdout);
	tell(&word, 1, down[1]);
	hear(&word, 1, up[0]);
	printf("-- the first process\n");
	SAY(cudaStreamSynchronize(s));
	SAY(cudaEventQuery(e));
	int status = 0;
	waitpid(child, &status, 0);
	TELL("exit status of the second process", WEXITSTATUS(status));
	SAY(cudaEventDestroy(e));
	SAY(cudaEventDestroy(plain));
}

int main(int argc, char **argv) {
	if (argc > 1) {
		other();
		return 0;
	}
	cudaFree(0);
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
	times();
	memory();
	shared(argv[0]);
	return 0;
}
