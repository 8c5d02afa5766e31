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
	RESULTS = 202, DEVICE_OF_HEURISTIC = 204, WORKSPACE = 402, JSON_OF_PLAN = 405, DEVICE_OF_PLAN = 407, DEVICE_OF_ENGINE = 1307,
	JSON = 2702,
	MAX_DESCRIPTORS = 1024, COMPILATION_FAILED = 4001,
};

struct descriptor { int type; void *real; };

// How many plans were asked for their workspace, and which of them have none that is known: without the real
// library, without its compiler, or with an estimate, and the bytes of the largest estimate. python/site asks.
enum { ASKED, WITHOUT_LIBRARY, NOT_COMPILED, ESTIMATED, LARGEST_ESTIMATE, KINDS_OF_PLANS };
static uint64_t plans[KINDS_OF_PLANS];

GAUGEBLOCK_API void gaugeblock_cudnn_plans(uint64_t to[KINDS_OF_PLANS]) {
	for (int i = 0; i < KINDS_OF_PLANS; i++) {
		to[i] = __atomic_load_n(&plans[i], __ATOMIC_RELAXED);
	}
}

static void count_plan(int kind) { __atomic_fetch_add(&plans[kind], 1, __ATOMIC_RELAXED); }

static void count_estimate(uint64_t bytes) {
	uint64_t largest = plans[LARGEST_ESTIMATE];
	count_plan(ESTIMATED);
	while (bytes > largest && !__atomic_compare_exchange_n(&plans[LARGEST_ESTIMATE], &largest, bytes, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
	}
}

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
	enum { OLDEST = 91002 };
	const char *said = getenv("GAUGEBLOCK_CUDNN_VERSION");
	return is_real() ? real.version() : said != NULL ? (size_t)atol(said) : OLDEST;
}

API cudnnGetProperty(int which, int *value) {
	NEEDS(value)
	int version = (int)cudnnGetVersion();
	*value = which == 0 ? version / 10000 : which == 1 ? version / 100 % 100 : version % 100;
	return 0;
}

API cudnnBackendCreateDescriptor(int type, struct descriptor **made) {
	NEEDS(made)
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
	NEEDS(d)
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
			fprintf(stderr, "gaugeblock: cuDNN could not compile a kernel with the program's libnvrtc: its workspace is taken to be 0\n");
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
	NEEDS(d)
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

// Without a driver some of cuDNN's engines do not know how many blocks of a kernel run at a time, so
// that the workspaces that they tell are not those on a device. measured has the others, as they
// were measured with cuDNN 9.19 on an H200, by their convolutions (../thin.go).
enum { MEASURED_VERSION = 91900, JSON_BYTES = 1 << 14 };

static const char *behind(const char *text, const char *what) {
	const char *found = text == NULL ? NULL : strstr(text, what);
	return found == NULL ? NULL : found + strlen(what);
}

// written appends the numbers of a list in brackets, with x between them.
static char *written(char *to, const char *list) {
	*to++ = ' ';
	for (; *list != ']' && *list != 0; list++) {
		*to++ = *list == ',' ? 'x' : *list;
	}
	*to = 0;
	return to;
}

// numbers reads a list in brackets. It is how many there are, at most MOST_DIMS.
enum { MOST_DIMS = 5 };
static int numbers(const char *list, long long to[MOST_DIMS]) {
	int n = 0;
	while (n < MOST_DIMS && list != NULL && *list != ']' && *list != 0) {
		char *end;
		to[n++] = strtoll(list, &end, 10);
		list = *end == ',' ? end + 1 : end;
	}
	return n;
}

// lies: a tensor has no gaps, and its dimensions lie one in another as for images behind one another (0),
// or with the channels innermost (1). The stride of a dimension of 1 says nothing.
static int lies(const char *dims, const char *strides, int channels_last) {
	long long d[MOST_DIMS], s[MOST_DIMS], want = 1;
	int n = numbers(dims, d);
	if (n < 3 || numbers(strides, s) != n) {
		return 0;
	}
	for (int i = 0; i < n; i++) {
		int at = !channels_last ? n - 1 - i : i == 0 ? 1 : i == n - 1 ? 0 : n - i;
		if (d[at] != 1 && s[at] != want) {
			return 0;
		}
		want *= d[at];
	}
	return 1;
}

// began writes which way, and the type and the layout of the tensors, which are the first three of
// the text, with the dimensions of two.
static char *began(char *to, const char *json, const char *way, const char *nodes) {
	const char *dims[3], *strides[3], *at = json, *type = behind(json, "CUDNN_DATA_");
	for (int i = 0; i < 3; i++) {
		dims[i] = behind(at, "\"dim\":[");
		at = strides[i] = behind(dims[i], "\"stride\":[");
		if (at == NULL || at > nodes) {
			return NULL;
		}
	}
	*to++ = strncmp(way, "FORWARD", 7) == 0 ? 'f' : strncmp(way, "BACKWARD_DATA", 13) == 0 ? 'd' : 'w';
	if (strncmp(type, "HALF", 4) == 0 || strncmp(type, "BFLOAT16", 8) == 0) {
		*to++ = *type == 'H' ? 'h' : 'b';
	} else if (strncmp(type, "FLOAT", 5) != 0) {
		return NULL;
	}
	int layout = 0;
	while (layout < 2 && !(lies(dims[0], strides[0], layout) && lies(dims[1], strides[1], layout) && lies(dims[2], strides[2], layout))) {
		layout++;
	}
	if (layout == 2) {
		return NULL;
	}
	if (layout == 1) {
		*to++ = 'l';
	}
	return written(written(to, dims[0]), dims[1]);
}

// convolution writes what a plan is for as the lines of measured do: which way, with h or b for numbers of 16
// bits and l for channels that lie innermost, the filter, the input, padding, stride, dilation, and
// the engine with its knobs. 0: it is something else.
static int convolution(char *key, const char *json) {
	const char *way = behind(json, "OPERATION_CONVOLUTION_"), *nodes = behind(json, "\"nodes\"");
	if (way == NULL || nodes == NULL || strstr(way, "CUDNN_BACKEND_OPERATION") != NULL) {
		return 0;
	}
	char *to = began(key, json, way, nodes);
	if (to == NULL) {
		return 0;
	}
	static const char *const words[] = {"\"pad\":[", "\"stride\":[", "\"dilation\":["};
	for (int i = 0; i < 3; i++) {
		const char *list = behind(nodes, words[i]);
		if (list == NULL) {
			return 0;
		}
		to = written(to, list);
	}
	const char *engine = behind(json, "\"engineId\":"), *knobs = behind(engine, "\"knobChoices\":{");
	if (engine == NULL) {
		return 0;
	}
	to += sprintf(to, " %d", atoi(engine));
	while (knobs != NULL && *knobs != '}' && (knobs = behind(knobs, "\":")) != NULL) {
		to += sprintf(to, ",%d", atoi(knobs));
		knobs += strcspn(knobs, ",}");
	}
	return 1;
}

static int by_key(const void *a, const void *b) { return strcmp(((const struct measured *)a)->key, ((const struct measured *)b)->key); }

// is_measured: the list is of this cuDNN and this device.
static int is_measured(void) {
	char name[256];
	WORDS((uint64_t)gaugeblock_current_runtime(), 0, 0, P(name));
	gaugeblock_do(GAUGEBLOCK_PROPERTIES, w);
	return real.version() == MEASURED_VERSION && strcmp(name, "NVIDIA H200") == 0;
}

// is_estimate: the plan is not on the list, and its engine may tell another workspace without a driver than with one.
// Of other releases and devices it is not known which engines do.
static int is_estimate(const char *key, int64_t workspace, int is_known) {
	static const int engines[] = {58, 62, 63, 65, 67, 68, 71};
	int engine = atoi(strrchr(key, ' ') + 1);
	for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
		if (is_known && engine == engines[i]) {
			return 1;
		}
	}
	return !is_known && workspace > 0;
}

// cudnn_splits.c
GAUGEBLOCK_API int64_t gaugeblock_cudnn_splits(const char *key, int64_t told);
GAUGEBLOCK_API int64_t gaugeblock_cudnn_estimate(const char *key);

// correct replaces the workspace of a plan by what was measured, or by a formula that follows what was.
static void correct(void *plan, int64_t *workspace) {
	static __thread char json[JSON_BYTES], key[JSON_BYTES];
	int64_t count;
	memset(json, 0, sizeof json);
	if (real.get(plan, JSON_OF_PLAN, CHAR, JSON_BYTES - 1, &count, json) != 0 || !convolution(key, json)) {
		return;
	}
	int is_known = is_measured();
	struct measured wanted = {key, 0}, *found = NULL;
	if (is_known) {
		found = bsearch(&wanted, measured, sizeof measured / sizeof *measured, sizeof *measured, by_key);
	}
	int64_t by_formula = is_known && found == NULL ? gaugeblock_cudnn_splits(key, *workspace) : -1;
	if (found != NULL || by_formula >= 0) {
		*workspace = found != NULL ? found->bytes : by_formula;
	} else if (is_estimate(key, *workspace, is_known)) {
		int64_t estimate = is_known ? gaugeblock_cudnn_estimate(key) : -1;
		if (estimate > *workspace) {
			*workspace = estimate;
		}
		count_estimate((uint64_t)*workspace);
	}
}

// Who asks for descriptors has made them, and the real library fills them.
API cudnnBackendGetAttribute(struct descriptor *d, int name, int type, int64_t wanted, int64_t *count, void *value) {
	NEEDS(d)
	void *room[MAX_DESCRIPTORS];
	if (d->real != NULL) {
		if (type == DESCRIPTOR && value != NULL) {
			if (wanted < 0 || wanted > MAX_DESCRIPTORS) {
				return FAILED;
			}
			value = reals(wanted, value, room);
		}
		int r = real.get(d->real, name, type, wanted, count, value);
		if (r == 0 && name == WORKSPACE && type == INT64 && value != NULL && wanted > 0) {
			count_plan(ASKED);
			correct(d->real, value);
		}
		return r;
	}
	if (name == WORKSPACE && value != NULL && wanted > 0) {
		count_plan(ASKED);
		count_plan(is_real() ? NOT_COMPILED : WITHOUT_LIBRARY);
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
	return work(h, "cudnnBackendExecute");
}
