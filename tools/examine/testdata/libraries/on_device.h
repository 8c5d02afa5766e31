// A device that is current in a scope.
#pragma once
#include <cuda_runtime.h>

struct OnDevice {
	int before = 0;
	explicit OnDevice(int device) {
		cudaGetDevice(&before);
		cudaSetDevice(device);
	}
	~OnDevice() { cudaSetDevice(before); }
};
