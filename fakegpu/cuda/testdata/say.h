// What the programs have in common that ask a device questions, and print each call with its
// answer. On a real device they are compiled with CUDA's headers,
//
//	nvcc -x cu -DREAL_DEVICE streams.c -lcuda -o streams
//
// and what it prints on an H200 is in the .txt beside it.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifdef REAL_DEVICE
#include <cuda.h>
#include <cuda_runtime.h>
#else
#include "gaugeblock_cuda.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAY(call) (printf("%-76s %d\n", #call, (int)(call)), fflush(stdout))
#define TELL(what, value) (printf("%-76s %lld\n", what, (long long)(value)), fflush(stdout))

// hold keeps what is given to a stream from being done, until let_go: the stream waits for a word of
// host memory.
static volatile unsigned *gates;
static inline void hold(cudaStream_t s, int which) {
	if (gates == NULL && cudaMallocHost((void **)&gates, 64) != cudaSuccess) exit(2);
	gates[which] = 0;
	cuStreamWaitValue32((CUstream)s, (CUdeviceptr)(size_t)&gates[which], 1, 0);
}
static inline void let_go(int which) { gates[which] = 1; }
