// The few functions of the management library that PyTorch looks for: libnvidia-ml.so.1.
// On the fake machine no other program computes.
#include "core.h"

enum { NVML_NOT_SUPPORTED = 3 };

GAUGEBLOCK_API int nvmlInit_v2(void) { return 0; }

GAUGEBLOCK_API int nvmlSystemGetCudaDriverVersion_v2(int *version) {
	*version = 13000;
	return 0;
}

GAUGEBLOCK_API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
	(void)bus;
	*device = NULL;
	return 0;
}

GAUGEBLOCK_API int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *processes) {
	(void)device, (void)processes;
	*count = 0;
	return 0;
}

#define LACKS(name) \
	GAUGEBLOCK_API int name(void) { \
		gaugeblock_lacks(#name); \
		return NVML_NOT_SUPPORTED; \
	}
LACKS(nvmlDeviceGetNvLinkRemoteDeviceType)
LACKS(nvmlDeviceGetNvLinkRemotePciInfo_v2)
LACKS(nvmlDeviceGetGpuFabricInfoV)
