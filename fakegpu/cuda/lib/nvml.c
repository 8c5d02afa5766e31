// The few functions of the management library that PyTorch looks for: libnvidia-ml.so.1.
// There is nothing on the fake machine that they could tell.
#include "core.h"

enum { NVML_NOT_SUPPORTED = 3 };

GAUGEBLOCK_API int nvmlInit_v2(void) { return 0; }

GAUGEBLOCK_API int nvmlSystemGetCudaDriverVersion_v2(int *version) {
	*version = 13000;
	return 0;
}

#define LACKS(name) \
	GAUGEBLOCK_API int name(void) { \
		gaugeblock_lacks(#name); \
		return NVML_NOT_SUPPORTED; \
	}
LACKS(nvmlDeviceGetHandleByPciBusId_v2)
LACKS(nvmlDeviceGetNvLinkRemoteDeviceType)
LACKS(nvmlDeviceGetNvLinkRemotePciInfo_v2)
LACKS(nvmlDeviceGetComputeRunningProcesses)
LACKS(nvmlDeviceGetGpuFabricInfoV)
