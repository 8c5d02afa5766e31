#include "thin.h"

HANDLES(cublasCreate_v2, cublasDestroy_v2, cublasSetStream_v2)

API cublasGetStream_v2(struct handle *h, void **stream) {
	*stream = h->stream;
	return 0;
}

API cublasSetPointerMode_v2(struct handle *h, int mode) {
	h->pointer_mode = mode;
	return 0;
}

API cublasGetPointerMode_v2(struct handle *h, int *mode) {
	*mode = h->pointer_mode;
	return 0;
}

API cublasSetMathMode(struct handle *h, int mode) {
	h->math_mode = mode;
	return 0;
}

API cublasGetMathMode(struct handle *h, int *mode) {
	*mode = h->math_mode;
	return 0;
}

API cublasGetVersion_v2(struct handle *h, int *version) {
	(void)h;
	*version = GAUGEBLOCK_CUDART * 10000;
	return 0;
}
