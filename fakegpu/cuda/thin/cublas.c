#include "thin.h"

LARGE_HANDLES(GAUGEBLOCK_OF_CUBLAS, cublasCreate_v2, cublasDestroy_v2, cublasSetStream_v2)

API cublasGetStream_v2(struct handle *h, void **stream) {
	NEEDS_HANDLE(h) NEEDS(stream)
	*stream = h->stream;
	return 0;
}

API cublasSetPointerMode_v2(struct handle *h, int mode) {
	NEEDS_HANDLE(h)
	h->pointer_mode = mode;
	return 0;
}

API cublasGetPointerMode_v2(struct handle *h, int *mode) {
	NEEDS_HANDLE(h) NEEDS(mode)
	*mode = h->pointer_mode;
	return 0;
}

API cublasSetMathMode(struct handle *h, int mode) {
	NEEDS_HANDLE(h)
	h->math_mode = mode;
	return 0;
}

API cublasGetMathMode(struct handle *h, int *mode) {
	NEEDS_HANDLE(h) NEEDS(mode)
	*mode = h->math_mode;
	return 0;
}

API cublasGetVersion_v2(struct handle *h, int *version) {
	NEEDS(version)
	(void)h;
	*version = GAUGEBLOCK_CUDART < 13 ? 120900 : 130000;
	return 0;
}

GAUGEBLOCK_API const char *cublasGetStatusName(int status) { return status == 0 ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_NOT_SUPPORTED"; }

GAUGEBLOCK_API const char *cublasGetStatusString(int status) {
	return status == 0 ? "the operation completed successfully" : "the functionality requested is not supported";
}

// Products of matrices know how much there is to do.
API cublasSgemm_v2(const struct handle *h, int ta, int tb, int m, int n, int k) {
	(void)ta, (void)tb;
	NEEDS_HANDLE(h)
	return multiply(h->stream, "cublasSgemm_v2", m, n, k, 1, OF_SINGLE);
}

API cublasSgemmStridedBatched(const struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int la,
	long long sa, const void *b, int lb, long long sb, const void *beta, void *c, int lc, long long sc, int count) {
	(void)ta, (void)tb, (void)alpha, (void)a, (void)la, (void)sa, (void)b, (void)lb, (void)sb, (void)beta, (void)c, (void)lc, (void)sc;
	NEEDS_HANDLE(h)
	return multiply(h->stream, "cublasSgemmStridedBatched", m, n, k, count, OF_SINGLE);
}

API cublasGemmEx(const struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int type) {
	(void)ta, (void)tb, (void)alpha, (void)a;
	NEEDS_HANDLE(h)
	return multiply(h->stream, "cublasGemmEx", m, n, k, 1, type);
}

API cublasGemmStridedBatchedEx(const struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int type,
	int la, long long sa, const void *b, int tb2, int lb, long long sb, const void *beta, void *c, int tc, int lc, long long sc, int count) {
	(void)ta, (void)tb, (void)alpha, (void)a, (void)la, (void)sa, (void)b, (void)tb2, (void)lb, (void)sb, (void)beta, (void)c, (void)tc, (void)lc, (void)sc;
	NEEDS_HANDLE(h)
	return multiply(h->stream, "cublasGemmStridedBatchedEx", m, n, k, count, type);
}
