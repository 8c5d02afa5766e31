#include "thin.h"

#include <pthread.h>

LARGE_HANDLES(GAUGEBLOCK_OF_CUDNN, cudnnCreate, cudnnDestroy, cudnnSetStream)

GAUGEBLOCK_API size_t cudnnGetCudartVersion(void) { return GAUGEBLOCK_CUDART * 1000; }

GAUGEBLOCK_API const char *cudnnGetErrorString(int status) { return status == 0 ? "CUDNN_STATUS_SUCCESS" : "an error of the fake GPU's cuDNN"; }

GAUGEBLOCK_API void cudnnGetLastErrorString(char *text, size_t size) {
	if (size > 0) {
		*text = 0;
	}
}

API cudnnGetStream(struct handle *h, void **stream) {
	NEEDS(h, stream)
	*stream = h->stream;
	return 0;
}

// The states of a dropout are one generator for each thread that a device can have at a time.
API cudnnDropoutGetStatesSize(void *h, size_t *bytes) {
	NEEDS(bytes)
	enum { PROCESSORS = 16, THREADS = 39, BYTES_OF_STATE = 24 };
	(void)h;
	*bytes = (size_t)gaugeblock_attribute(PROCESSORS) * (size_t)gaugeblock_attribute(THREADS) * BYTES_OF_STATE;
	return 0;
}

// Descriptors of tensors and filters are asked for what they were told.
struct shape { int type, count, dims[16], strides[16]; };

static int count_of(const struct shape *d, int wanted) { return wanted < 0 ? 0 : wanted < d->count ? wanted : d->count; }

API cudnnSetTensorNdDescriptor(struct shape *d, int type, int count, const int *dims, const int *strides) {
	NEEDS(d, dims, strides)
	if (count < 0 || count > 16) {
		return FAILED;
	}
	d->type = type, d->count = count;
	memcpy(d->dims, dims, sizeof *dims * (size_t)count);
	memcpy(d->strides, strides, sizeof *strides * (size_t)count);
	return 0;
}

API cudnnGetTensorNdDescriptor(const struct shape *d, int wanted, int *type, int *count, int *dims, int *strides) {
	NEEDS(d, type, count, dims, strides)
	size_t n = (size_t)count_of(d, wanted);
	*type = d->type, *count = d->count;
	memcpy(dims, d->dims, sizeof *dims * n);
	memcpy(strides, d->strides, sizeof *strides * n);
	return 0;
}

API cudnnSetFilterNdDescriptor(struct shape *d, int type, int format, int count, const int *dims) {
	NEEDS(d, dims)
	(void)format;
	if (count < 0 || count > 16) {
		return FAILED;
	}
	d->type = type, d->count = count;
	memcpy(d->dims, dims, sizeof *dims * (size_t)count);
	return 0;
}

API cudnnGetFilterNdDescriptor(const struct shape *d, int wanted, int *type, int *format, int *count, int *dims) {
	NEEDS(d, type, format, count, dims)
	*type = d->type, *format = 0, *count = d->count;
	memcpy(dims, d->dims, sizeof *dims * (size_t)count_of(d, wanted));
	return 0;
}
