#include "thin.h"

API cublasLtCreate(struct handle **h) { return make_handle(h); }
API cublasLtDestroy(struct handle *h) { return unmake(h); }
GAUGEBLOCK_API size_t cublasLtGetVersion(void) { return GAUGEBLOCK_CUDART < 13 ? 120900 : 130000; }

// What the heuristic answers: one algorithm that fits and needs no workspace. PyTorch has
// allocated its workspace before, by its own rule.
typedef struct { uint64_t algorithm[8]; size_t workspace; int state; float waves; int reserved[4]; } Heuristic;

API cublasLtMatmulAlgoGetHeuristic(void *h, void *operation, void *a, void *b, void *c, void *d, void *preference, int wanted,
	Heuristic *results, int *count) {
	NEEDS(count)
	(void)h, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
	*count = wanted > 0;
	if (wanted > 0) {
		NEEDS(results)
		memset(results, 0, sizeof *results);
	}
	return 0;
}

API cublasLtMatmulAlgoCheck(void *h, void *operation, void *a, void *b, void *c, void *d, const void *algorithm, Heuristic *result) {
	NEEDS(algorithm, result)
	(void)h, (void)operation, (void)a, (void)b, (void)c, (void)d;
	memset(result, 0, sizeof *result);
	memcpy(result->algorithm, algorithm, sizeof result->algorithm);
	return 0;
}

// What is known of a matrix.
typedef struct { int type; uint64_t rows, columns; } Layout;

API cublasLtMatrixLayoutCreate(Layout **made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
	(void)leading;
	int r = make((void **)made);
	if (r == 0) {
		**made = (Layout){type, rows, columns};
	}
	return r;
}

API cublasLtMatmul(void *h, void *operation, const void *alpha, const void *a, const Layout *la, const void *b, void *lb, const void *beta,
	const void *c, void *lc, void *d, const Layout *ld, const void *algorithm, void *workspace, size_t bytes, void *stream) {
	NEEDS(la, ld)
	(void)h, (void)operation, (void)alpha, (void)a, (void)b, (void)lb, (void)beta, (void)c, (void)lc, (void)d;
	(void)algorithm, (void)workspace, (void)bytes;
	uint64_t inner = ld->rows == 0 ? 0 : la->rows * la->columns / ld->rows; // a has the rows of d, one way or the other
	return multiply(stream, "cublasLtMatmul", (long long)ld->rows, (long long)ld->columns, (long long)inner, 1, la->type);
}
