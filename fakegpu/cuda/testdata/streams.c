// Questions about streams: their flags and priorities, what the legacy default stream waits for, and
// what waits for it, streams of threads, and functions of the host.
#include "say.h"

#include <pthread.h>

// pending reports whether a stream has work now that is not done.
static int pending(cudaStream_t s) {
	cudaEvent_t e;
	cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
	cudaEventRecord(e, s);
	usleep(20000);
	int r = (int)cudaEventQuery(e);
	cudaEventDestroy(e);
	return r == cudaErrorNotReady ? 1 : r;
}

static void flags(void) {
	cudaStream_t s, n, p;
	unsigned f = 99;
	int least, greatest, priority = 99;
	unsigned long long id, legacy;
	printf("== flags and priorities\n");
	SAY(cudaStreamCreate(&s));
	SAY(cudaStreamGetFlags(s, &f));
	TELL("flags", f);
	SAY(cudaStreamCreateWithFlags(&n, cudaStreamNonBlocking));
	SAY(cudaStreamGetFlags(n, &f));
	TELL("flags", f);
	SAY(cudaStreamCreateWithFlags(&p, 2));
	SAY(cudaStreamCreate(NULL));
	SAY(cudaStreamGetFlags(0, &f));
	TELL("flags", f);
	SAY(cudaStreamGetFlags(cudaStreamLegacy, &f));
	TELL("flags", f);
	SAY(cudaStreamGetFlags(cudaStreamPerThread, &f));
	TELL("flags", f);
	SAY(cudaStreamGetFlags(s, NULL));
	(void)cudaGetLastError();
	SAY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	TELL("least", least);
	TELL("greatest", greatest);
	const int asked[] = {0, -1, greatest, -100, 1, 100};
	for (int i = 0; i < 6; i++) {
		SAY(cudaStreamCreateWithPriority(&p, cudaStreamNonBlocking, asked[i]));
		SAY(cudaStreamGetPriority(p, &priority));
		TELL("priority", priority);
		SAY(cudaStreamGetFlags(p, &f));
		TELL("flags", f);
		SAY(cudaStreamDestroy(p));
	}
	SAY(cudaStreamGetPriority(0, &priority));
	TELL("priority", priority);
	SAY(cudaStreamGetPriority(cudaStreamPerThread, &priority));
	TELL("priority", priority);
	SAY(cudaStreamGetPriority(s, NULL));
	SAY(cudaStreamGetId(cudaStreamLegacy, &legacy));
	SAY(cudaStreamGetId(0, &id));
	TELL("the stream 0 is the legacy one", id == legacy);
	SAY(cudaStreamGetId(cudaStreamPerThread, &id));
	TELL("the thread's is another", id != legacy);
	SAY(cudaStreamDestroy(0));
	SAY(cudaStreamDestroy(cudaStreamLegacy));
	SAY(cudaStreamDestroy(cudaStreamPerThread));
	(void)cudaGetLastError();
	SAY(cudaStreamDestroy(s));
	SAY(cudaStreamDestroy(n));
}

static void legacy(void) {
	cudaStream_t b, c, n;
	cudaEvent_t done;
	printf("== the legacy default stream\n");
	cudaStreamCreate(&b);
	cudaStreamCreate(&c);
	cudaStreamCreateWithFlags(&n, cudaStreamNonBlocking);
	cudaEventCreate(&done);
	hold(0, 0);
	TELL("it is held: blocking stream", pending(b));
	TELL("non-blocking stream", pending(n));
	TELL("the thread's stream", pending(cudaStreamPerThread));
	let_go(0);
	SAY(cudaDeviceSynchronize());
	hold(b, 0);
	TELL("a blocking stream is held: non-blocking stream", pending(n));
	TELL("another blocking stream", pending(c));
	TELL("the thread's stream", pending(cudaStreamPerThread));
	SAY(cudaStreamQuery(c));
	SAY(cudaStreamQuery(0));
	SAY(cudaStreamQuery(c));
	TELL("the legacy stream", pending(0));
	TELL("another blocking stream, behind the legacy one", pending(c));
	TELL("the thread's stream, behind the legacy one", pending(cudaStreamPerThread));
	TELL("a non-blocking stream, behind the legacy one", pending(n));
	let_go(0);
	SAY(cudaDeviceSynchronize());
	hold(n, 0);
	TELL("a non-blocking stream is held: the legacy stream", pending(0));
	TELL("a blocking stream", pending(b));
	let_go(0);
	SAY(cudaDeviceSynchronize());
	hold(cudaStreamPerThread, 0);
	TELL("the thread's stream is held: a blocking stream", pending(b));
	TELL("the legacy stream", pending(0));
	let_go(0);
	SAY(cudaDeviceSynchronize());
	SAY(cudaEventRecord(done, n));
	SAY(cudaEventSynchronize(done));
	hold(b, 0);
	SAY(cudaStreamWaitEvent(0, done, 0));
	TELL("the legacy stream has been told to wait for nothing: a blocking stream", pending(c));
	let_go(0);
	SAY(cudaDeviceSynchronize());
	int devices = 0;
	cudaGetDeviceCount(&devices);
	if (devices > 1) {
		hold(b, 0);
		cudaSetDevice(1);
		TELL("the legacy stream of another device", pending(0));
		cudaSetDevice(0);
		let_go(0);
		SAY(cudaDeviceSynchronize());
		hold(0, 0);
		cudaStream_t other;
		cudaSetDevice(1);
		cudaStreamCreate(&other);
		TELL("a blocking stream of another device", pending(other));
		cudaStreamDestroy(other);
		cudaSetDevice(0);
		let_go(0);
		SAY(cudaDeviceSynchronize());
	}
	cudaEventDestroy(done);
	cudaStreamDestroy(b);
	cudaStreamDestroy(c);
	cudaStreamDestroy(n);
}

static volatile int called;
static int in_function[3];
static void CUDART_CB sets(void *data) { *(volatile int *)data = 1; }
static void CUDART_CB calls(void *data) {
	void *p = NULL;
	in_function[0] = (int)cudaMalloc(&p, 512);
	in_function[1] = (int)cudaStreamQuery((cudaStream_t)data);
	in_function[2] = (int)cudaGetLastError();
	called = 1;
}
static cudaStream_t told_stream;
static int told_status;
static void CUDART_CB told(cudaStream_t s, cudaError_t status, void *data) {
	told_stream = s;
	told_status = (int)status;
	*(volatile int *)data = 1;
}

static void functions(void) {
	cudaStream_t s;
	cudaEvent_t before;
	void *p;
	printf("== functions of the host\n");
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	cudaEventCreate(&before);
	cudaMalloc(&p, 1 << 20);
	called = 0;
	SAY(cudaMemsetAsync(p, 1, 1 << 20, s));
	SAY(cudaEventRecord(before, s));
	SAY(cudaLaunchHostFunc(s, sets, (void *)&called));
	while (!called) usleep(100);
	SAY(cudaEventQuery(before));
	called = 0;
	SAY(cudaStreamAddCallback(s, told, (void *)&called, 0));
	SAY(cudaStreamSynchronize(s));
	TELL("it has been called", called);
	TELL("its stream is the stream", told_stream == s);
	TELL("its status", told_status);
	SAY(cudaStreamAddCallback(s, told, (void *)&called, 1));
	SAY(cudaStreamAddCallback(s, NULL, NULL, 0));
	SAY(cudaLaunchHostFunc(s, NULL, NULL));
	(void)cudaGetLastError();
	called = 0;
	SAY(cudaLaunchHostFunc(s, calls, s));
	SAY(cudaStreamSynchronize(s));
	TELL("cudaMalloc in a function", in_function[0]);
	TELL("cudaStreamQuery in a function", in_function[1]);
	TELL("its last error", in_function[2]);
	SAY(cudaGetLastError());
	cudaFree(p);
	cudaEventDestroy(before);
	cudaStreamDestroy(s);
}

static cudaEvent_t of_thread;
static unsigned long long ids[2];
static void *works(void *data) {
	int which = *(int *)data;
	cudaStreamGetId(cudaStreamPerThread, &ids[which]);
	if (which == 0) {
		hold(cudaStreamPerThread, 0);
		cudaEventRecord(of_thread, cudaStreamPerThread);
	} else {
		TELL("the next thread's stream has work", pending(cudaStreamPerThread));
	}
	return NULL;
}

static void threads(void) {
	int which[] = {0, 1};
	pthread_t first, second;
	printf("== streams of threads\n");
	cudaEventCreate(&of_thread);
	pthread_create(&first, NULL, works, &which[0]);
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2;
	int waits = pthread_timedjoin_np(first, NULL, &until) != 0;
	TELL("the end of a thread waits for its stream", waits);
	SAY(cudaEventQuery(of_thread));
	if (!waits) {
		pthread_create(&second, NULL, works, &which[1]);
		pthread_join(second, NULL);
		TELL("the next thread's stream is the same", ids[0] == ids[1]);
	}
	let_go(0);
	SAY(cudaDeviceSynchronize());
	SAY(cudaEventQuery(of_thread));
	cudaEventDestroy(of_thread);
}

// A handle that was given up while work was left in the stream.
static void destroyed(void) {
	cudaStream_t s, again;
	cudaEvent_t e;
	unsigned long long first, second;
	printf("== destroyed streams\n");
	cudaEventCreate(&e);
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	cudaStreamGetId(s, &first);
	hold(s, 0);
	cudaEventRecord(e, s);
	SAY(cudaStreamDestroy(s));
	SAY(cudaEventQuery(e));
	cudaStreamCreateWithFlags(&again, cudaStreamNonBlocking);
	cudaStreamGetId(again, &second);
	TELL("its handle is the next new stream's", s == again);
	TELL("its number is", first == second);
	TELL("the new stream waits for the old", pending(again));
	let_go(0);
	SAY(cudaDeviceSynchronize());
	SAY(cudaEventQuery(e));
	cudaStreamDestroy(again);
	cudaEventDestroy(e);
}

int main(int argc, char **argv) {
	(void)argc, (void)argv;
	cudaFree(0);
	flags();
	legacy();
	functions();
	threads();
	destroyed();
	return 0;
}
