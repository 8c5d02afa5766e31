#pragma once
#define HYDROGEN_HAVE_CUDA
#define HYDROGEN_HAVE_GPU
