// Asks the libraries above CUDA what programs ask of them beside work, and prints what they answer; how long work took,
// by a schedule of time. Argument: the folder of the libraries.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;
static cudaStream_t stream;
static const char *folder;

static void opened(const char *name) {
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	printf("== %s%s\n", name, library == NULL ? " is not there" : "");
}

typedef int (*Function)();
static Function find(const char *name) {
	void *f = dlsym(library, name);
	if (f == NULL) {
		printf("no %s\n", name);
		exit(1);
	}
	return (Function)f;
}

#define ASK(name, ...) ((void)printf("%s %d\n", #name, find(#name)(__VA_ARGS__)))
#define SAID(name, ...) ((void)printf("%s \"%s\"\n", #name, ((const char *(*)())find(#name))(__VA_ARGS__)))
#define LONG(name, ...) ((void)printf("%s %zu\n", #name, ((size_t (*)())find(#name))(__VA_ARGS__)))

// TIMED is how long the work of a call takes on the stream.
#define TIMED(name, ...) do { \
	cudaEvent_t began, ended; \
	float ms = -1; \
	cudaEventCreate(&began), cudaEventCreate(&ended), cudaEventRecord(began, stream); \
	int r = find(#name)(__VA_ARGS__); \
	cudaEventRecord(ended, stream), cudaEventSynchronize(ended), cudaEventElapsedTime(&ms, began, ended); \
	printf("%s %d, %.6f ms\n", #name, r, ms); \
} while (0)

static void cublas(const char *name) {
	void *h = NULL, *s = NULL;
	int n = -1;
	opened(name);
	ASK(cublasCreate_v2, &h);
	ASK(cublasSetStream_v2, h, stream);
	ASK(cublasGetStream_v2, h, &s);
	printf("the stream %s\n", s == (void *)stream ? "is the same" : "differs");
	ASK(cublasSetPointerMode_v2, h, 1), ASK(cublasGetPointerMode_v2, h, &n), printf("mode %d\n", n);
	ASK(cublasSetMathMode, h, 3), ASK(cublasGetMathMode, h, &n), printf("mode %d\n", n);
	ASK(cublasGetPointerMode_v2, h, &n), printf("mode %d\n", n);
	ASK(cublasGetVersion_v2, h, &n), printf("version %d\n", n);
	SAID(cublasGetStatusName, 0), SAID(cublasGetStatusName, 7), SAID(cublasGetStatusString, 0), SAID(cublasGetStatusString, 7);
	TIMED(cublasSgemm_v2, h, 0, 0, 1000, 2000, 3000);
	TIMED(cublasSgemm_v2, h, 0, 0, 10, 4000000, 2);
	TIMED(cublasSgemmStridedBatched, h, 0, 0, 1000, 200, 300, NULL, NULL, 0, 0LL, NULL, 0, 0LL, NULL, NULL, 0, 0LL, 50);
	for (int type = 0; type < 3; type++) {
		TIMED(cublasGemmEx, h, 0, 0, 4000, 5000, 6000, NULL, NULL, type);
		TIMED(cublasGemmStridedBatchedEx, h, 0, 0, 1000, 200, 300, NULL, NULL, type, 0, 0LL, NULL, 0, 0, 0LL, NULL, NULL, 0, 0, 0LL, 70);
	}
	// Of half precision sizes within a quarter of an octave have one kernel, which the second finds loaded.
	for (int rows = 4100; rows <= 5000; rows += 450) {
		TIMED(cublasGemmEx, h, 0, 0, rows, 5000, 6000, NULL, NULL, 2);
	}
	TIMED(cublasSgemm_v2, NULL, 0, 0, 1000, 2000, 3000);
	TIMED(cublasCgemm_v2, h);
	ASK(cublasDestroy_v2, h);
}

static void cublasLt(const char *name) {
	void *h = NULL, *a = NULL, *d = NULL, *none = NULL;
	unsigned char results[256], algorithm[64];
	int count = -1;
	opened(name);
	ASK(cublasLtCreate, &h);
	LONG(cublasLtGetVersion, 0);
	for (int wanted = 0; wanted < 3; wanted++) {
		memset(results, 7, sizeof results);
		ASK(cublasLtMatmulAlgoGetHeuristic, h, NULL, NULL, NULL, NULL, NULL, NULL, wanted, results, &count);
		printf("%d algorithms, %d %d\n", count, results[0], results[95]);
	}
	memset(results, 7, sizeof results), memset(algorithm, 5, sizeof algorithm);
	ASK(cublasLtMatmulAlgoCheck, h, NULL, NULL, NULL, NULL, NULL, algorithm, results);
	printf("%d %d %d\n", results[0], results[63], results[64]);
	ASK(cublasLtMatrixLayoutCreate, &a, 2, (uint64_t)4000, (uint64_t)6000, (int64_t)4000);
	ASK(cublasLtMatrixLayoutCreate, &d, 2, (uint64_t)4000, (uint64_t)5000, (int64_t)4000);
	ASK(cublasLtMatrixLayoutCreate, &none, 2, (uint64_t)0, (uint64_t)5000, (int64_t)1);
	TIMED(cublasLtMatmul, h, NULL, NULL, NULL, a, NULL, NULL, NULL, NULL, NULL, NULL, d, NULL, NULL, (size_t)0, stream);
	TIMED(cublasLtMatmul, h, NULL, NULL, NULL, a, NULL, NULL, NULL, NULL, NULL, NULL, none, NULL, NULL, (size_t)0, stream);
	ASK(cublasLtDestroy, h);
}

static void cudnn(void) {
	void *h = NULL, *s = NULL, *t = NULL, *f = NULL;
	int type, format, count, n, dims[16], strides[16];
	int of[17] = {2, 3, 5, 7, 11}, by[17] = {1155, 385, 77, 11, 1};
	size_t bytes = 0;
	char text[8] = "before";
	opened("libcudnn.so.9");
	LONG(cudnnGetVersion, 0), LONG(cudnnGetCudartVersion, 0);
	for (int which = 0; which < 3; which++) {
		ASK(cudnnGetProperty, which, &n), printf("%d\n", n);
	}
	SAID(cudnnGetErrorString, 0), SAID(cudnnGetErrorString, 1);
	((void (*)())find("cudnnGetLastErrorString"))(text, (size_t)0), printf("%s\n", text);
	((void (*)())find("cudnnGetLastErrorString"))(text, (size_t)1), printf("\"%s\"\n", text);
	ASK(cudnnCreate, &h), ASK(cudnnSetStream, h, stream), ASK(cudnnGetStream, h, &s);
	printf("the stream %s\n", s == (void *)stream ? "is the same" : "differs");
	ASK(cudnnDropoutGetStatesSize, h, &bytes), printf("%zu bytes\n", bytes);
	ASK(cudnnCreateTensorDescriptor, &t), ASK(cudnnCreateFilterDescriptor, &f);
	for (int dimensions = -1; dimensions < 18; dimensions += dimensions < 1 ? 1 : 4) { // -1, 0, 1, 5, 9, 13, 17
		memset(dims, 0, sizeof dims), memset(strides, 0, sizeof strides);
		type = format = count = -1;
		ASK(cudnnSetTensorNdDescriptor, t, 2, dimensions, of, by);
		ASK(cudnnGetTensorNdDescriptor, t, 4, &type, &count, dims, strides);
		printf("%d: type %d, %d dimensions, %d %d %d %d %d, strides %d %d %d\n", dimensions, type, count, dims[0], dims[1], dims[3], dims[4], dims[5], strides[0], strides[3], strides[4]);
		memset(dims, 0, sizeof dims);
		ASK(cudnnSetFilterNdDescriptor, f, 3, 1, dimensions, of);
		ASK(cudnnGetFilterNdDescriptor, f, 3, &type, &format, &count, dims);
		printf("%d: type %d, format %d, %d dimensions, %d %d %d\n", dimensions, type, format, count, dims[0], dims[2], dims[3]);
	}
	ASK(cudnnSetTensorNdDescriptor, t, 2, 16, of, by), ASK(cudnnSetFilterNdDescriptor, f, 2, 0, 16, of);
	ASK(cudnnDestroy, h);
}

static void backend(void) {
	enum { PLAN = 5, HANDLE_TYPE = 0, INT64 = 3, DESCRIPTOR = 15, INT32 = 23, CHAR = 24, RESULTS = 202, WORKSPACE = 402 };
	void *d = NULL;
	int64_t count, value;
	int32_t small;
	uint64_t plans[5];
	ASK(cudnnBackendCreateDescriptor, PLAN, &d), ASK(cudnnBackendFinalize, d);
	ASK(cudnnBackendSetAttribute, d, RESULTS, DESCRIPTOR, (int64_t)5000, NULL);
	for (int name = RESULTS; name <= WORKSPACE; name += WORKSPACE - RESULTS) {
		for (int type = 0; type < 25; type++) {
			count = value = small = -1;
			if (type == HANDLE_TYPE || type == INT64 || type == DESCRIPTOR || type == CHAR) {
				int r = find("cudnnBackendGetAttribute")(d, name, type, (int64_t)1, &count, &value);
				printf("attribute %d of type %d: %d, %lld, %lld\n", name, type, r, (long long)count, (long long)value);
			} else if (type == INT32) {
				int r = find("cudnnBackendGetAttribute")(d, name, type, (int64_t)1, &count, &small);
				printf("attribute %d of type %d: %d, %lld, %d\n", name, type, r, (long long)count, small);
			}
		}
	}
	value = -1;
	ASK(cudnnBackendGetAttribute, d, WORKSPACE, INT64, (int64_t)0, NULL, &value), printf("%lld\n", (long long)value);
	ASK(cudnnBackendGetAttribute, d, WORKSPACE, INT64, (int64_t)1, NULL, NULL);
	((void (*)())find("gaugeblock_cudnn_plans"))(plans);
	printf("%llu asked, %llu without the library, %llu not compiled, %llu estimated\n", (unsigned long long)plans[0], (unsigned long long)plans[1], (unsigned long long)plans[2], (unsigned long long)plans[3]);
	TIMED(cudnnBackendExecute, NULL, NULL, NULL);
	ASK(cudnnBackendDestroyDescriptor, d), ASK(cudnnBackendDestroyDescriptor, NULL);
}

static void cufft(const char *name) {
	int plan, first, version = -1;
	long long n[3] = {64, 64, 64};
	size_t bytes;
	opened(name);
	ASK(cufftGetVersion, &version), printf("%d\n", version);
	ASK(cufftCreate, &first), ASK(cufftCreate, &plan), printf("%d\n", plan - first);
	for (int rank = 0; rank < 5; rank++) {
		bytes = 7;
		ASK(cufftXtMakePlanMany, plan, rank, n, NULL, 1LL, 0LL, 4, NULL, 1LL, 0LL, 4, 2LL, &bytes, 4), printf("%zu\n", bytes);
	}
	ASK(cufftXtMakePlanMany, plan, 1, NULL, NULL, 1LL, 0LL, 4, NULL, 1LL, 0LL, 4, 2LL, &bytes, 4);
	ASK(cufftXtMakePlanMany, plan, 1, n, NULL, 1LL, 0LL, 4, NULL, 1LL, 0LL, 4, 2LL, NULL, 4);
	for (long long batch = 0; batch < 3; batch++) {
		ASK(cufftXtMakePlanMany, plan, 1, n, NULL, 1LL, 0LL, 4, NULL, 1LL, 0LL, 4, batch, &bytes, 4);
	}
	for (n[1] = 0; n[1] < 3; n[1]++) {
		ASK(cufftXtMakePlanMany, plan, 2, n, NULL, 1LL, 0LL, 4, NULL, 1LL, 0LL, 4, 2LL, &bytes, 4);
	}
	static const int plans[] = {-1, 0, 65535, 65536};
	for (int i = 0; i < 4; i++) {
		ASK(cufftSetStream, plans[i], stream), ASK(cufftXtExec, plans[i], NULL, NULL, 1);
	}
	ASK(cufftSetStream, plan, stream);
	TIMED(cufftXtExec, plan, NULL, NULL, 1);
}

static void cusparse(void) {
	void *h = NULL;
	int n;
	opened("libcusparse.so.12");
	ASK(cusparseCreate, &h), ASK(cusparseSetStream, h, stream), ASK(cusparseGetVersion, h, &n), printf("%d\n", n);
	for (int which = 0; which < 4; which++) {
		ASK(cusparseGetProperty, which, &n), printf("%d\n", n);
	}
	SAID(cusparseGetErrorString, 0), SAID(cusparseGetErrorString, 1);
	n = 5, ASK(cusparseXbsrsm2_zeroPivot, h, NULL, &n), printf("%d\n", n);
	n = 5, ASK(cusparseXbsrsv2_zeroPivot, h, NULL, &n), printf("%d\n", n);
	ASK(cusparseDestroy, h);
}

static void nvrtc(const char *name) {
	void *p = NULL;
	int major = -1, minor = -1;
	size_t bytes = 0;
	char text[128];
	const char *lowered = NULL;
	opened(name);
	ASK(nvrtcVersion, &major, &minor), printf("%d.%d\n", major, minor);
	SAID(nvrtcGetErrorString, 0), SAID(nvrtcGetErrorString, 1);
	ASK(nvrtcCreateProgram, &p, "", "", 0, NULL, NULL), printf("a program: %d\n", p != NULL);
	ASK(nvrtcAddNameExpression, p, "f<int>"), ASK(nvrtcCompileProgram, p, 0, NULL);
	ASK(nvrtcGetLoweredName, p, "f<int>", &lowered), printf("%s\n", lowered);
	ASK(nvrtcGetPTXSize, p, &bytes), printf("%zu\n", bytes), ASK(nvrtcGetPTX, p, text), printf("%s", text);
	ASK(nvrtcGetCUBINSize, p, &bytes), printf("%zu\n", bytes), ASK(nvrtcGetCUBIN, p, text), printf("%s", text);
	ASK(nvrtcGetProgramLogSize, p, &bytes), printf("%zu\n", bytes), ASK(nvrtcGetProgramLog, p, text), printf("\"%s\"\n", text);
	ASK(nvrtcDestroyProgram, &p), printf("a program: %d\n", p != NULL);
	ASK(__nvrtcCPEx, 0);
}

static void cupti(const char *name) {
	uint32_t version = 0;
	const char *text = NULL;
	void *record = &version;
	size_t dropped = 7;
	opened(name);
	ASK(cuptiGetVersion, &version), printf("%u\n", version);
	ASK(cuptiGetResultString, 0, &text), printf("%s\n", text), ASK(cuptiGetResultString, 1, &text), printf("%s\n", text);
	ASK(cuptiActivityGetNextRecord, NULL, (size_t)0, &record), printf("a record: %d\n", record != NULL);
	ASK(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped), printf("%zu\n", dropped);
}

// more prints how much more memory is taken than when it was first called.
static void more(const char *after) {
	static size_t at_first;
	size_t available = 0, whole = 0;
	cudaMemGetInfo(&available, &whole);
	at_first = at_first == 0 ? available : at_first;
	printf("after %s %.2f MiB are taken\n", after, ((double)at_first - (double)available) / (1 << 20));
}

static void nccl(void) {
	struct { char bytes[128]; } id;
	void *c = NULL, *all[2] = {NULL, NULL}, *memory = NULL;
	int n = -1, devices[2] = {0, 1};
	opened("libnccl.so.2");
	ASK(ncclGetVersion, &n), printf("%d\n", n);
	SAID(ncclGetErrorString, 0), SAID(ncclGetErrorString, 1), SAID(ncclGetLastError, NULL);
	ASK(ncclGetUniqueId, &id);
	more("nothing");
	ASK(ncclCommInitAll, all, 2, devices);
	more("init");
	for (int i = 0; i < 2; i++) {
		ASK(ncclCommCount, all[i], &n), printf("%d\n", n), ASK(ncclCommUserRank, all[i], &n), printf("%d\n", n);
		n = 5, ASK(ncclCommGetAsyncError, all[i], &n), printf("%d\n", n);
	}
	ASK(ncclMemAlloc, &memory, (size_t)1000), printf("memory: %d\n", memory != NULL), ASK(ncclMemFree, memory);
	c = all[0];
	TIMED(ncclAllReduce, NULL, NULL, (size_t)100000000, 7, 0, c, stream);
	more("a reduction");
	TIMED(ncclAllGather, NULL, NULL, (size_t)100000000, 7, c, stream);
	TIMED(ncclReduceScatter, NULL, NULL, (size_t)100000000, 7, 0, c, stream);
	TIMED(ncclBroadcast, NULL, NULL, (size_t)100000000, 7, 0, c, stream);
	TIMED(ncclAllReduce, NULL, NULL, (size_t)0, 7, 0, c, stream);
	for (int type = 0; type < 12; type++) {
		TIMED(ncclAllReduce, NULL, NULL, (size_t)10000000, type, 0, c, stream);
	}
	more("a broadcast");
	ASK(ncclCommDestroy, all[0]), more("the end of one"), ASK(ncclCommAbort, all[1]), more("the end of both");
	ASK(ncclCommInitRank, &c, 2, id, 0), more("another"), ASK(ncclCommDestroy, c), more("its end");
}

int main(int count, char **arguments) {
	folder = count > 1 ? arguments[1] : ".";
	cudaStreamCreate(&stream);
	cublas("libcublas.so.12"), cublas("libcublas.so.13");
	cublasLt("libcublasLt.so.12"), cublasLt("libcublasLt.so.13");
	cudnn(), backend();
	cufft("libcufft.so.11"), cufft("libcufft.so.12");
	cusparse();
	nvrtc("libnvrtc.so.12"), nvrtc("libnvrtc.so.13");
	cupti("libcupti.so.12"), cupti("libcupti.so.13");
	nccl();
	return 0;
}
