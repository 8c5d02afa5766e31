#include "rmm_cuda.h"
