// Which calls a thread may make while a stream is being captured. Each column is a capture's mode
// (0 global, 1 thread-local, 2 relaxed), the mode of the thread that calls, and whether it is the
// same (s) that began the capture or another one (a). A number is what the call answers. One that
// is refused invalidates the capture; a ? would say that the capture is not as it should be then.
// With an argument the machine is another process's.
#include "gaugeblock_cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static cudaStream_t captured, other;
static cudaEvent_t in_capture, done;
static void *memory, *unused;
static char bytes[64];
static int end_of_host;

#define CALLS(X) \
	X(cudaStreamSynchronize(other)) \
	X(cudaStreamSynchronize(captured)) \
	X(cudaStreamSynchronize(NULL)) \
	X(cudaStreamQuery(other)) \
	X(cudaStreamQuery(captured)) \
	X(cudaEventSynchronize(done)) \
	X(cudaEventQuery(done)) \
	X(cudaEventQuery(in_capture)) \
	X(cudaEventSynchronize(in_capture)) \
	X(cudaDeviceSynchronize()) \
	X(cudaMalloc(&unused, 1 << 21)) \
	X(cudaFree(memory)) \
	X(cudaMemcpy(memory, bytes, sizeof bytes, cudaMemcpyHostToDevice)) \
	X(cudaMemcpyAsync(memory, bytes, sizeof bytes, cudaMemcpyHostToDevice, other)) \
	X(cudaHostAlloc(&unused, 4096, 0)) \
	X(cudaEventRecord(done, other))

static const char *names[] = {
#define NAME(call) #call,
	CALLS(NAME)
};

static int make(int which) {
	int i = 0;
#define MAKE(call) if (which == i++) return call;
	CALLS(MAKE)
	return -1;
}

typedef struct { int which, mode, answer; } Call;

static void *calls(void *call) {
	Call *c = call;
	enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)c->mode;
	cudaThreadExchangeStreamCaptureMode(&mode);
	c->answer = make(c->which);
	cudaThreadExchangeStreamCaptureMode(&mode);
	cudaGetLastError();
	return NULL;
}

static void try(int which, int began, int mode, int another) {
	cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
	cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
	cudaEventCreateWithFlags(&in_capture, cudaEventDisableTiming);
	cudaEventRecord(done, other);
	cudaStreamSynchronize(other);
	cudaMalloc(&memory, 1 << 21);
	int wrong = cudaStreamBeginCapture(captured, (enum cudaStreamCaptureMode)began);
	cudaEventRecord(in_capture, captured);
	Call call = {which, mode, -1};
	pthread_t thread;
	if (another) {
		pthread_create(&thread, NULL, calls, &call);
		pthread_join(thread, NULL);
	} else {
		calls(&call);
	}
	enum cudaStreamCaptureStatus status;
	cudaStreamIsCapturing(captured, &status);
	cudaGraph_t graph;
	int end = cudaStreamEndCapture(captured, &graph);
	cudaGetLastError();
	wrong |= status != (call.answer == 0 ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated);
	wrong |= end != (call.answer == 0 ? 0 : cudaErrorStreamCaptureInvalidated);
	printf(" %3d%s", call.answer, wrong ? "?" : "");
}

// be_guest has another process make the machine, which ends when this one closes the pipe.
static void be_guest(void) {
	int made[2], over[2];
	char byte;
	if (pipe(made) != 0 || pipe(over) != 0) _exit(1);
	if (fork() == 0) {
		int devices;
		close(over[1]);
		cudaGetDeviceCount(&devices);
		close(made[0]), close(made[1]);
		exit((int)read(over[0], &byte, 1));
	}
	close(made[1]), close(over[0]);
	if (read(made[0], &byte, 1) != 0) _exit(1); // until the other one has closed it
	end_of_host = over[1];
}

int main(int argc, char **argv) {
	(void)argv;
	if (argc > 1) be_guest();
	printf("%-72s", "");
	for (int i = 0; i < 18; i++) printf(" %d%d%c", i / 6, i / 2 % 3, i % 2 ? 'a' : 's');
	printf("\n");
	for (int which = 0; which < (int)(sizeof names / sizeof *names); which++) {
		printf("%-72s", names[which]);
		for (int i = 0; i < 18; i++) try(which, i / 6, i / 2 % 3, i % 2);
		printf("\n");
	}
	if (argc > 1) {
		close(end_of_host);
		wait(NULL);
	}
	return 0;
}
