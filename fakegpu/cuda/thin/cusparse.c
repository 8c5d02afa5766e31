#include "thin.h"

HANDLES(cusparseCreate, cusparseDestroy, cusparseSetStream)

GAUGEBLOCK_API const char *cusparseGetErrorString(int status) { return status == 0 ? "success" : "an error of the fake GPU's cusparse"; }

// No pivot is zero.
static int no_pivot(int *position) {
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
