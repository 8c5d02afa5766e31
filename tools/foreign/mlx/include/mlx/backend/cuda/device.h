#pragma once
#include "mlx/backend/cuda/cuda_utils.h"
