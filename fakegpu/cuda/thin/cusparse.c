#include "thin.h"

HANDLES(cusparseCreate, cusparseDestroy, cusparseSetStream)

GAUGEBLOCK_API const char *cusparseGetErrorString(int status) { return status == 0 ? "success" : "an error of the fake GPU's cusparse"; }

API cusparseGetVersion(void *h, int *version) {
	NEEDS(version)
	(void)h;
	*version = GAUGEBLOCK_CUDART < 13 ? 12510 : 12600;
	return 0;
}

API cusparseGetProperty(int which, int *value) {
	NEEDS(value)
	enum { MAJOR, MINOR };
	*value = which == MAJOR ? 12 : which == MINOR ? GAUGEBLOCK_CUDART < 13 ? 5 : 6 : GAUGEBLOCK_CUDART < 13 ? 10 : 0;
	return 0;
}

// No pivot is zero.
static int no_pivot(int *position) {
	NEEDS(position)
	*position = -1;
	return 0;
}
API cusparseXbsrsm2_zeroPivot(void *h, void *info, int *position) {
	(void)h, (void)info;
	return no_pivot(position);
}
API cusparseXbsrsv2_zeroPivot(void *h, void *info, int *position) {
	(void)h, (void)info;
	return no_pivot(position);
}
