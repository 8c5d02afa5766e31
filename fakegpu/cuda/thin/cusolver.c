#include "thin.h"

HANDLES(cusolverDnCreate, cusolverDnDestroy, cusolverDnSetStream)
