// The management library (libnvidia-ml.so.1), as far as PyTorch, NVIDIA's Python bindings, vLLM and
// SGLang ask it. As on a GPU, asking it starts nothing of CUDA, since programs fork after they have asked: the
// variable GAUGEBLOCK_CUDA_NVML tells of the devices, and only without it is the machine asked. On the
// fake machine no other program computes, and nothing is measured: temperatures, powers and rates of use are 0.
#include "core.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED_HERE = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
	VERSION_MISMATCH = 25, DRIVER = 13000, UUID_ROOM = 41,
};

#define NVML GAUGEBLOCK_API int

static _Atomic int users; // calls of nvmlInit less those of nvmlShutdown

NVML nvmlInitWithFlags(unsigned flags) {
	(void)flags;
	users++;
	return 0;
}

NVML nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
NVML nvmlInit(void) { return nvmlInitWithFlags(0); }

NVML nvmlShutdown(void) {
	int before = users;
	while (before > 0 && !atomic_compare_exchange_weak(&users, &before, before - 1)) {
	}
	return before > 0 ? 0 : UNINITIALIZED;
}

GAUGEBLOCK_API const char *nvmlErrorString(int error) {
	switch (error) {
	case 0: return "Success";
	case UNINITIALIZED: return "Uninitialized";
	case INVALID_ARGUMENT: return "Invalid Argument";
	case NOT_SUPPORTED_HERE: return "Not Supported";
	case NOT_FOUND: return "Not Found";
	case INSUFFICIENT_SIZE: return "Insufficient Size";
	case VERSION_MISMATCH: return "Argument version mismatch";
	}
	return "Unknown Error";
}

// What is known of a device. All devices of the machine are alike.
// reserved is what the driver keeps, which CUDA does not count at all.
struct about { char name[96]; unsigned long long memory, reserved; int major, minor, links; };

static unsigned devices(void) {
	const char *said = getenv("GAUGEBLOCK_CUDA_DEVICES");
	return said != NULL && *said != 0 ? (unsigned)atoi(said) : 1;
}

static struct about about(int device) {
	struct about a = {.name = ""};
	const char *said = getenv("GAUGEBLOCK_CUDA_NVML");
	if (said != NULL && sscanf(said, "%95[^|]|%llu|%llu|%d|%d|%d", a.name, &a.memory, &a.reserved, &a.major, &a.minor, &a.links) == 6) {
		return a;
	}
	enum { MAJOR = 75, MINOR = 76 };
	char name[256] = "";
	WORDS((uint64_t)device, 0, 0, P(name));
	gaugeblock_do(GAUGEBLOCK_PROPERTIES, w);
	snprintf(a.name, sizeof a.name, "%.*s", (int)sizeof a.name - 1, name);
	a.memory = w[1];
	uint64_t major[8] = {(uint64_t)device, MAJOR}, minor[8] = {(uint64_t)device, MINOR};
	gaugeblock_do(GAUGEBLOCK_ATTRIBUTE, major);
	gaugeblock_do(GAUGEBLOCK_ATTRIBUTE, minor);
	a.major = (int)major[2], a.minor = (int)minor[2];
	return a;
}

// A handle is the number of a device and 1. index is what a handle is of, -1: it is none.
static int index_of(const void *handle) {
	uintptr_t n = (uintptr_t)handle;
	return n >= 1 && n <= devices() ? (int)n - 1 : -1;
}

// ASKED begins what is asked of a device, whose answer must have a place.
#define ASKED(handle, answer) \
	int device = index_of(handle); \
	(void)device; \
	if (users == 0) return UNINITIALIZED; \
	if (device < 0 || (answer) == NULL) return INVALID_ARGUMENT;

static int put(char *to, unsigned room, const char *text) {
	if (to == NULL) {
		return INVALID_ARGUMENT;
	}
	if (strlen(text) >= room) {
		return INSUFFICIENT_SIZE;
	}
	strcpy(to, text);
	return 0;
}

NVML nvmlSystemGetDriverVersion(char *to, unsigned room) { return users == 0 ? UNINITIALIZED : put(to, room, "580.159.04"); }
NVML nvmlSystemGetNVMLVersion(char *to, unsigned room) { return users == 0 ? UNINITIALIZED : put(to, room, "13.580.159.04"); }

NVML nvmlSystemGetCudaDriverVersion_v2(int *version) {
	if (version == NULL) {
		return INVALID_ARGUMENT;
	}
	*version = DRIVER;
	return 0;
}
NVML nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

NVML nvmlDeviceGetCount_v2(unsigned *count) {
	if (users == 0 || count == NULL) {
		return users == 0 ? UNINITIALIZED : INVALID_ARGUMENT;
	}
	*count = devices();
	return 0;
}
NVML nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }

NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
	if (users == 0) {
		return UNINITIALIZED;
	}
	if (handle == NULL || index >= devices()) {
		return INVALID_ARGUMENT;
	}
	*handle = (void *)((uintptr_t)index + 1);
	return 0;
}
NVML nvmlDeviceGetHandleByIndex(unsigned index, void **handle) { return nvmlDeviceGetHandleByIndex_v2(index, handle); }

// The names of a device are those that CUDA tells of it (properties.c).
static void write_uuid(char text[UUID_ROOM], int device) { snprintf(text, UUID_ROOM, "GPU-%02x000000-0000-0000-0000-000000000000", (unsigned)device + 1 & 0xff); }
static void write_bus(char *text, size_t room, int device) { snprintf(text, room, "00000000:%02X:00.0", (unsigned)device + 1 & 0xff); }

NVML nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
	for (unsigned i = 0; users > 0 && uuid != NULL && i < devices(); i++) {
		char text[UUID_ROOM];
		write_uuid(text, (int)i);
		if (strcmp(text, uuid) == 0) {
			return nvmlDeviceGetHandleByIndex_v2(i, handle);
		}
	}
	return users == 0 ? UNINITIALIZED : uuid == NULL ? INVALID_ARGUMENT : NOT_FOUND;
}

NVML nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **handle) {
	unsigned domain, number;
	if (users == 0 || bus == NULL) {
		return users == 0 ? UNINITIALIZED : INVALID_ARGUMENT;
	}
	if (sscanf(bus, "%x:%x:", &domain, &number) != 2 || domain != 0 || number < 1 || number > devices()) {
		return NOT_FOUND;
	}
	return nvmlDeviceGetHandleByIndex_v2(number - 1, handle);
}
NVML nvmlDeviceGetHandleByPciBusId(const char *bus, void **handle) { return nvmlDeviceGetHandleByPciBusId_v2(bus, handle); }

// No NVLink fabric. PyTorch 2.13 and 2.14 ask, and end a request where this fails.
struct fabric_info {
	unsigned version;
	unsigned char cluster[16];
	unsigned status, clique;
	unsigned char state; // 0: not supported
};

NVML nvmlDeviceGetGpuFabricInfoV(void *handle, struct fabric_info *info) {
	ASKED(handle, info)
	info->status = info->clique = info->state = 0;
	return 0;
}

NVML nvmlDeviceGetIndex(void *handle, unsigned *index) {
	ASKED(handle, index)
	*index = (unsigned)device;
	return 0;
}
NVML nvmlDeviceGetMinorNumber(void *handle, unsigned *index) { return nvmlDeviceGetIndex(handle, index); }

NVML nvmlDeviceGetName(void *handle, char *to, unsigned room) {
	ASKED(handle, to)
	return put(to, room, about(device).name);
}

NVML nvmlDeviceGetUUID(void *handle, char *to, unsigned room) {
	ASKED(handle, to)
	char text[UUID_ROOM];
	write_uuid(text, device);
	return put(to, room, text);
}

NVML nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
	ASKED(handle, major)
	if (minor == NULL) {
		return INVALID_ARGUMENT;
	}
	struct about a = about(device);
	*major = a.major, *minor = a.minor;
	return 0;
}

struct place { char old_bus[16]; unsigned domain, bus, device, id, subsystem; char bus_text[32]; };

NVML nvmlDeviceGetPciInfo_v3(void *handle, struct place *p) {
	ASKED(handle, p)
	*p = (struct place){.bus = (unsigned)device + 1};
	snprintf(p->old_bus, sizeof p->old_bus, "0000:%02X:00.0", p->bus & 0xff);
	write_bus(p->bus_text, sizeof p->bus_text, device);
	return 0;
}
NVML nvmlDeviceGetPciInfo_v2(void *handle, struct place *p) { return nvmlDeviceGetPciInfo_v3(handle, p); }
NVML nvmlDeviceGetPciInfo(void *handle, struct place *p) { return nvmlDeviceGetPciInfo_v3(handle, p); }

// Memory is what this process takes, once it uses CUDA.
static unsigned long long used_of(int device, unsigned long long total) {
	WORDS((uint64_t)device);
	return gaugeblock_initialized() && gaugeblock_do(GAUGEBLOCK_MEM_INFO, w) == 0 && w[1] < total ? total - w[1] : 0;
}

NVML nvmlDeviceGetMemoryInfo(void *handle, unsigned long long memory[3]) {
	ASKED(handle, memory)
	struct about a = about(device);
	memory[0] = a.memory + a.reserved;
	memory[2] = used_of(device, a.memory) + a.reserved;
	memory[1] = memory[0] - memory[2];
	return 0;
}

struct memory2 { unsigned version; unsigned long long total, reserved, available, used; };

NVML nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory2 *m) {
	ASKED(handle, m)
	if (m->version != (sizeof *m | 2 << 24)) {
		return VERSION_MISMATCH;
	}
	struct about a = about(device);
	m->total = a.memory + a.reserved;
	m->reserved = a.reserved;
	m->used = used_of(device, a.memory);
	m->available = a.memory - m->used;
	return 0;
}

// Two devices reach each other, by links if the GPU has them.
NVML nvmlDeviceGetP2PStatus(void *handle, void *other, int how, int *status) {
	enum { BY_LINK = 2, HOWS = 5, OK = 0, NOT = 5 };
	ASKED(handle, status)
	if (index_of(other) < 0 || how < 0 || how > HOWS) {
		return INVALID_ARGUMENT;
	}
	*status = how != BY_LINK || about(device).links ? OK : NOT;
	return 0;
}

NVML nvmlDeviceGetTopologyCommonAncestor(void *handle, void *other, int *level) {
	enum { INTERNAL = 0, NODE = 40 };
	ASKED(handle, level)
	if (index_of(other) < 0) {
		return INVALID_ARGUMENT;
	}
	*level = handle == other ? INTERNAL : NODE;
	return 0;
}

NVML nvmlDeviceGetUtilizationRates(void *handle, unsigned rates[2]) {
	ASKED(handle, rates)
	rates[0] = rates[1] = 0;
	return 0;
}

NVML nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *degrees) {
	(void)sensor;
	ASKED(handle, degrees)
	*degrees = 0;
	return 0;
}

NVML nvmlDeviceGetClockInfo(void *handle, int kind, unsigned *mhz) { return nvmlDeviceGetTemperature(handle, kind, mhz); }

NVML nvmlDeviceGetMigMode(void *handle, unsigned *now, unsigned *next) {
	ASKED(handle, now)
	*now = 0;
	if (next != NULL) {
		*next = 0;
	}
	return 0;
}

// What is a number that is 0 here.
#define NONE(name) \
	NVML name(void *handle, unsigned *number) { \
		ASKED(handle, number) \
		*number = 0; \
		return 0; \
	}
NONE(nvmlDeviceGetPowerUsage)
NONE(nvmlDeviceGetComputeMode)
NONE(nvmlDeviceGetPersistenceMode)
NONE(nvmlDeviceGetDisplayMode)
NONE(nvmlDeviceGetDisplayActive)
NONE(nvmlDeviceIsMigDeviceHandle)
NONE(nvmlDeviceGetMaxMigDeviceCount)
NONE(nvmlDeviceGetNumaNodeId)
NONE(nvmlDeviceGetPerformanceState)

#define NOBODY(name) \
	NVML name(void *handle, unsigned *count, void *processes) { \
		(void)processes; \
		ASKED(handle, count) \
		*count = 0; \
		return 0; \
	}
NOBODY(nvmlDeviceGetComputeRunningProcesses)
NOBODY(nvmlDeviceGetComputeRunningProcesses_v2)
NOBODY(nvmlDeviceGetComputeRunningProcesses_v3)
NOBODY(nvmlDeviceGetGraphicsRunningProcesses)
NOBODY(nvmlDeviceGetGraphicsRunningProcesses_v2)
NOBODY(nvmlDeviceGetGraphicsRunningProcesses_v3)

// The name of what is not there goes to the machine, if there is one already.
#define LACKS(name) \
	NVML name(void) { \
		if (gaugeblock_initialized()) { \
			gaugeblock_lacks(#name); \
		} \
		return NOT_SUPPORTED_HERE; \
	}
LACKS(nvmlDeviceGetNvLinkRemoteDeviceType)
LACKS(nvmlDeviceGetNvLinkRemotePciInfo_v2)
LACKS(nvmlDeviceGetNvLinkState)
LACKS(nvmlDeviceGetNvLinkCapability)
LACKS(nvmlDeviceGetSerial)
LACKS(nvmlDeviceGetEnforcedPowerLimit)
LACKS(nvmlDeviceGetPowerManagementLimit)
LACKS(nvmlDeviceGetBAR1MemoryInfo)
LACKS(nvmlDeviceGetMaxClockInfo)
LACKS(nvmlDeviceGetCpuAffinity)
LACKS(nvmlDeviceGetMemoryAffinity)
LACKS(nvmlDeviceGetTotalEccErrors)
