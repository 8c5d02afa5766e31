// Two threads, one after the other, write to the same memory on two streams. The first has waited
// for its stream; whether the second knows is up to them. With GAUGEBLOCK_CUDA_THREADS=own the
// program is wrong, unless it is called with "told".
#include "gaugeblock_cuda.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

static cudaStream_t streams[2];
static void *memory;
static sem_t turn, ready;
static int told;

static void write_memory(int which) {
	cudaMemsetAsync(memory, which, 1 << 20, streams[which]);
	cudaStreamSynchronize(streams[which]);
}

static void *first(void *unused) {
	write_memory(0);
	if (told) gaugeblock_release(&turn);
	sem_post(&turn);
	return unused;
}

static void *second(void *unused) {
	cudaStreamQuery(streams[1]); // it has begun before the first has done anything
	sem_post(&ready);
	sem_wait(&turn);
	if (told) gaugeblock_acquire(&turn);
	write_memory(1);
	return unused;
}

int main(int argc, char **argv) {
	pthread_t threads[2];
	told = argc > 1 && strcmp(argv[1], "told") == 0;
	sem_init(&turn, 0, 0);
	sem_init(&ready, 0, 0);
	cudaMalloc(&memory, 1 << 20);
	for (int i = 0; i < 2; i++) cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
	pthread_create(&threads[1], NULL, second, NULL);
	sem_wait(&ready);
	pthread_create(&threads[0], NULL, first, NULL);
	for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
	printf("%d hazards\n", gaugeblock_hazards());
	return 0;
}
