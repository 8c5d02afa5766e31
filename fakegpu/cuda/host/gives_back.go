//go:build cgo && linux

package host

/*
#include "gaugeblock_cuda_table.h"
*/
import "C"

// GivesBack names the calls of CUDA by which a program gives back what the word names; "" if an
// operation is none of them.
func GivesBack(operation int32) (call string, word int) {
	const mode = 1<<C.GAUGEBLOCK_MODE - 1
	switch operation & mode {
	case C.GAUGEBLOCK_FREE:
		return "cudaFree", 0
	case C.GAUGEBLOCK_POOL_FREE:
		return "cudaFreeAsync", 1
	case C.GAUGEBLOCK_POOL_DESTROY:
		return "cudaMemPoolDestroy", 0
	case C.GAUGEBLOCK_PAGE_UNMAP:
		return "cuMemUnmap", 0
	case C.GAUGEBLOCK_PAGE_RELEASE:
		return "cuMemRelease", 0
	case C.GAUGEBLOCK_ADDRESS_FREE:
		return "cuMemAddressFree", 0
	}
	return "", 0
}
