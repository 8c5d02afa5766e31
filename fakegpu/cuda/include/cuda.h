// For programs that include this name of CUDA's and are built where CUDA's headers are not.
#include "gaugeblock_cuda.h"
#include "gaugeblock_cuda_virtual.h"
