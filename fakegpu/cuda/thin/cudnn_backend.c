// cuDNN's backend: descriptors of graphs of operations, heuristics that propose engines, and plans
// with the workspaces that they need. With the variable GAUGEBLOCK_CUDNN, the path of NVIDIA's
// libcudnn.so.9 in the user's wheel, that library answers: it makes plans without a device from
// properties that it is told (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR), and no plan is executed.
// Otherwise there is one plan for everything, and its workspace has 0 bytes.
#include <dlfcn.h>

// Numbers of the backend's interface.
enum {
	ENGINE = 2, HEURISTIC = 4, PLAN = 5, DEVICE = 38,                 // descriptors
	HANDLE_TYPE = 0, INT64 = 3, DESCRIPTOR = 15, INT32 = 23, CHAR = 24, // types of attributes
	RESULTS = 202, DEVICE_OF_HEURISTIC = 204, DEVICE_OF_PLAN = 407, DEVICE_OF_ENGINE = 1307, JSON = 2702,
	MAX_DESCRIPTORS = 1024, COMPILATION_FAILED = 4001,
};

struct descriptor { int type; void *real; };

static struct {
	void *library, *device;
	int (*create)(int, void **), (*destroy)(void *), (*finalize)(void *);
	int (*set)(void *, int, int, int64_t, const void *), (*get)(void *, int, int, int64_t, int64_t *, void *);
	size_t (*version)(void);
} real;
static pthread_once_t real_once = PTHREAD_ONCE_INIT;

// describe tells the real library of the device.
static int describe(void) {
	char name[256], text[2048];
	WORDS((uint64_t)gaugeblock_current_runtime(), 0, 0, P(name));
	gaugeblock_do(GAUGEBLOCK_PROPERTIES, w);
	static const struct { const char *name; int attribute; } values[] = {
		{"regsPerBlock", 12}, {"multiProcessorCount", 16}, {"warpSize", 10}, {"maxSharedMemoryPerBlock", 8},
		{"maxSharedMemoryPerBlockOptin", 97}, {"reservedSharedMemoryPerBlock", 111}, {"maxRegistersPerSM", 82},
		{"maxCtasPerSM", 106}, {"maxThreadsPerBlock", 1}, {"maxThreadsPerSM", 39}, {"supportCoopLaunch", 95},
		{"smClockRateKHz", 13}, {"memClockRateKHz", 36}, {"l2CacheSize", 38},
	};
	int n = snprintf(text, sizeof text,
		"{\"deviceVer\": %d, \"driverVersion\": 13000, \"driverVer\": 13000, \"cudaDeviceId\": 0, \"maxGridSize\": [%d, %d, %d], "
		"\"maxBlockSize\": [%d, %d, %d], \"pciDeviceId\": 9013, \"isTccDriver\": 0, \"totalGlobalMem\": %llu, \"deviceName\": \"%s\", "
		"\"cudnnVersion\": %zu, \"schemaVersion\": 1", 100 * gaugeblock_attribute(75) + 10 * gaugeblock_attribute(76),
		gaugeblock_attribute(5), gaugeblock_attribute(6), gaugeblock_attribute(7), gaugeblock_attribute(2), gaugeblock_attribute(3),
		gaugeblock_attribute(4), (unsigned long long)w[1], name, real.version());
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		n += snprintf(text + n, sizeof text - (size_t)n, ", \"%s\": %d", values[i].name, gaugeblock_attribute(values[i].attribute));
	}
	n += snprintf(text + n, sizeof text - (size_t)n, "}");
	int r = real.create(DEVICE, &real.device);
	r = r != 0 ? r : real.set(real.device, JSON, CHAR, n, text);
	return r != 0 ? r : real.finalize(real.device);
}

static void *find(const char *name) {
	void *function = dlsym(real.library, name);
	if (function == NULL) {
		fprintf(stderr, "gaugeblock: NVIDIA's cuDNN has no %s: workspaces of convolutions are taken to be 0\n", name);
	}
	return function;
}

static void load_real(void) {
	const char *path = getenv("GAUGEBLOCK_CUDNN");
	if (path == NULL || *path == 0) {
		return;
	}
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		fprintf(stderr, "gaugeblock: %s: workspaces of convolutions are taken to be 0\n", dlerror());
		return;
	}
	real.library = library;
	real.create = (int (*)(int, void **))find("cudnnBackendCreateDescriptor");
	real.destroy = (int (*)(void *))find("cudnnBackendDestroyDescriptor");
	real.finalize = (int (*)(void *))find("cudnnBackendFinalize");
	real.set = (int (*)(void *, int, int, int64_t, const void *))find("cudnnBackendSetAttribute");
	real.get = (int (*)(void *, int, int, int64_t, int64_t *, void *))find("cudnnBackendGetAttribute");
	real.version = (size_t (*)(void))find("cudnnGetVersion");
	int whole = real.create != NULL && real.destroy != NULL && real.finalize != NULL && real.set != NULL && real.get != NULL && real.version != NULL;
	if (whole && describe() != 0) {
		fprintf(stderr, "gaugeblock: NVIDIA's cuDNN takes no properties of a device: workspaces of convolutions are taken to be 0\n");
		whole = 0;
	}
	if (!whole) {
		real.library = NULL;
	}
}

static int is_real(void) {
	pthread_once(&real_once, load_real);
	return real.library != NULL;
}

// Without the real library the version is what the variable says, so that PyTorch finds what it was
// built with.
GAUGEBLOCK_API size_t cudnnGetVersion(void) {
	enum { OLDEST = 91000 };
	const char *said = getenv("GAUGEBLOCK_CUDNN_VERSION");
	return is_real() ? real.version() : said != NULL ? (size_t)atol(said) : OLDEST;
}

API cudnnGetProperty(int which, int *value) {
	int version = (int)cudnnGetVersion();
	*value = which == 0 ? version / 10000 : which == 1 ? version / 100 % 100 : version % 100;
	return 0;
}

API cudnnBackendCreateDescriptor(int type, struct descriptor **made) {
	struct descriptor *d = calloc(1, sizeof *d);
	if (d == NULL) {
		return FAILED;
	}
	d->type = type;
	int r = is_real() ? real.create(type, &d->real) : 0;
	if (r != 0) {
		free(d);
		return r;
	}
	*made = d;
	return 0;
}

API cudnnBackendDestroyDescriptor(struct descriptor *d) {
	int r = d != NULL && d->real != NULL ? real.destroy(d->real) : 0;
	free(d);
	return r;
}

// What depends on a device is told of it before it is finished.
API cudnnBackendFinalize(struct descriptor *d) {
	if (d->real == NULL) {
		return 0;
	}
	int name = d->type == HEURISTIC ? DEVICE_OF_HEURISTIC : d->type == PLAN ? DEVICE_OF_PLAN : d->type == ENGINE ? DEVICE_OF_ENGINE : 0;
	if (name != 0) {
		real.set(d->real, name, DESCRIPTOR, 1, &real.device);
	}
	int r = real.finalize(d->real);
	if (r == COMPILATION_FAILED && d->type == PLAN) {
		static int said;
		if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) {
			fprintf(stderr, "gaugeblock: cuDNN could not compile a kernel, which needs the wheels of NVIDIA's compiler and headers: its workspace is taken to be 0\n");
		}
		real.destroy(d->real);
		d->real = NULL;
		return 0;
	}
	return r;
}

// reals are the real library's descriptors of some of ours.
static void **reals(int64_t count, struct descriptor *const *ours, void **room) {
	for (int64_t i = 0; i < count; i++) {
		room[i] = ours[i] == NULL ? NULL : ours[i]->real;
	}
	return room;
}

API cudnnBackendSetAttribute(struct descriptor *d, int name, int type, int64_t count, const void *value) {
	void *room[MAX_DESCRIPTORS];
	if (d->real == NULL || type == HANDLE_TYPE) {
		return 0;
	}
	if (type == DESCRIPTOR) {
		if (count < 0 || count > MAX_DESCRIPTORS) {
			return FAILED;
		}
		value = reals(count, value, room);
	}
	return real.set(d->real, name, type, count, value);
}

// Who asks for descriptors has made them, and the real library fills them.
API cudnnBackendGetAttribute(struct descriptor *d, int name, int type, int64_t wanted, int64_t *count, void *value) {
	void *room[MAX_DESCRIPTORS];
	if (d->real != NULL) {
		if (type == DESCRIPTOR && value != NULL) {
			if (wanted < 0 || wanted > MAX_DESCRIPTORS) {
				return FAILED;
			}
			value = reals(wanted, value, room);
		}
		return real.get(d->real, name, type, wanted, count, value);
	}
	int there = name == RESULTS || type == INT64 || type == INT32 || type == DESCRIPTOR;
	if (value != NULL && wanted > 0 && type == INT64) {
		*(int64_t *)value = 0;
	}
	if (value != NULL && wanted > 0 && type == INT32) {
		*(int32_t *)value = 0;
	}
	if (count != NULL) {
		*count = there;
	}
	return 0;
}

API cudnnBackendExecute(struct handle *h, struct descriptor *plan, struct descriptor *pack) {
	(void)plan, (void)pack;
	return work(h, "a plan of cuDNN");
}
