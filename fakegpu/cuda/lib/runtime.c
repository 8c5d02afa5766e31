// The runtime's interface: libcudart.so.13, and with GAUGEBLOCK_CUDART 12 libcudart.so.12,
// in which some functions have other parameters.
#include "runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The last error that a call has given to the thread. That work is not over yet is an answer
// and not an error, says CUDA's programming guide: it is not kept.
static __thread int last;

int gaugeblock_ended(int r) {
	if (r != 0 && r != NOT_READY) {
		last = r;
	}
	return r;
}
GAUGEBLOCK_API Error cudaGetLastError(void) {
	int r = last;
	last = 0;
	return r;
}

GAUGEBLOCK_API Error cudaPeekAtLastError(void) { return last; }

GAUGEBLOCK_API const char *cudaGetErrorName(Error error) {
	const char *name = gaugeblock_error_name(error, 1);
	return name == NULL ? "unrecognized error code" : name;
}

GAUGEBLOCK_API const char *cudaGetErrorString(Error error) {
	const char *text = gaugeblock_error_text(error);
	return text == NULL ? "unrecognized error code" : text;
}

GAUGEBLOCK_API Error cudaDriverGetVersion(int *version) {
	if (version == NULL) {
		return ended(INVALID_VALUE);
	}
	*version = 13000;
	return 0;
}

GAUGEBLOCK_API Error cudaRuntimeGetVersion(int *version) {
	if (version == NULL) {
		return ended(INVALID_VALUE);
	}
	*version = GAUGEBLOCK_CUDART < 13 ? 12090 : 13000;
	return 0;
}

GAUGEBLOCK_API Error cudaGetDeviceCount(int *count) {
	if (count == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(0);
	int r = DO(COUNT);
	*count = (int)w[0];
	return r;
}

GAUGEBLOCK_API Error cudaGetDevice(int *device) {
	if (device == NULL) {
		return ended(INVALID_VALUE);
	}
	*device = gaugeblock_current_runtime();
	return 0;
}

GAUGEBLOCK_API Error cudaSetDevice(int device) {
	if (device == gaugeblock_current()) {
		return 0;
	}
	WORDS(0);
	int r = DO(COUNT);
	if (r == 0 && (device < 0 || (uint64_t)device >= w[0])) {
		return ended(INVALID_DEVICE);
	}
	if (r == 0) {
		gaugeblock_make_current(device);
	}
	return r;
}

GAUGEBLOCK_API Error cudaDeviceGetAttribute(int *value, int attribute, int device) {
	return ended(cuDeviceGetAttribute(value, attribute, device)); // both interfaces have the same numbers
}

GAUGEBLOCK_API Error cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
	if (least != NULL) {
		*least = 0;
	}
	if (greatest != NULL) {
		*greatest = -5;
	}
	return 0;
}

GAUGEBLOCK_API Error cudaDeviceGetPCIBusId(char *id, int size, int device) {
	if (id == NULL || size <= 0) {
		return ended(INVALID_VALUE);
	}
	int r = gaugeblock_device_there(device);
	if (r == 0) {
		snprintf(id, (size_t)size, "0000:%02X:00.0", device + 1);
	}
	return ended(r);
}

GAUGEBLOCK_API Error cudaDeviceGetByPCIBusId(int *device, const char *id) {
	if (device == NULL || id == NULL) {
		return ended(INVALID_VALUE);
	}
	unsigned bus = 0;
	sscanf(id, "%*x:%x", &bus);
	*device = (int)bus - 1;
	return ended(gaugeblock_device_there(*device) != 0 ? INVALID_VALUE : 0);
}

GAUGEBLOCK_API Error cudaSetDeviceFlags(unsigned flags) {
	(void)flags;
	return 0;
}

GAUGEBLOCK_API Error cudaDeviceSynchronize(void) {
	WORDS(CURRENT);
	return DO(DEVICE_SYNCHRONIZE);
}

GAUGEBLOCK_API Error cudaDeviceCanAccessPeer(int *can, int device, int peer) {
	if (can == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS((uint64_t)device, (uint64_t)peer);
	int r = DO(PEER_CAN);
	*can = (int)w[2];
	return r;
}

GAUGEBLOCK_API Error cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
	int r = gaugeblock_device_there(peer);
	if (r == 0) {
		r = cuCtxSetCurrent(gaugeblock_context(gaugeblock_current_runtime()));
	}
	return ended(r != 0 ? r : cuCtxEnablePeerAccess(gaugeblock_context(peer), flags));
}

// Memory.

GAUGEBLOCK_API Error cudaMalloc(void **ptr, size_t bytes) {
	if (ptr == NULL) {
		return ended(INVALID_VALUE);
	}
	*ptr = NULL;
	if (bytes == 0) {
		return 0;
	}
	WORDS(CURRENT, bytes);
	int r = DO(MALLOC);
	if (r == 0) {
		*ptr = (void *)w[2];
	}
	return r;
}

GAUGEBLOCK_API Error cudaFree(void *ptr) {
	if (ptr == NULL) {
		return 0;
	}
	gaugeblock_current_runtime();
	return ended(cuMemFree_v2(P(ptr)));
}

GAUGEBLOCK_API Error cudaMemGetInfo(size_t *available, size_t *total) {
	if (available == NULL || total == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(CURRENT);
	int r = DO(MEM_INFO);
	*available = w[1];
	*total = w[2];
	return r;
}

GAUGEBLOCK_API Error cudaIpcGetMemHandle(Handle *handle, void *ptr) {
	if (handle == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(P(ptr), P(handle));
	return DO(IPC_GET);
}

GAUGEBLOCK_API Error cudaIpcOpenMemHandle(void **ptr, Handle handle, unsigned flags) {
	if (ptr == NULL) {
		return ended(INVALID_VALUE);
	}
	(void)flags;
	WORDS(CURRENT, P(&handle));
	int r = DO(IPC_OPEN);
	if (r == 0) {
		*ptr = (void *)w[2];
	}
	return r;
}

GAUGEBLOCK_API Error cudaIpcCloseMemHandle(void *ptr) {
	WORDS(CURRENT, P(ptr));
	return DO(IPC_CLOSE);
}

// Streams and events.

GAUGEBLOCK_API Error cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
	if (stream == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(CURRENT, 0, flags, (uint64_t)(int64_t)priority);
	int r = DO(STREAM_CREATE);
	if (r == 0) {
		*stream = (void *)w[1];
	}
	return r;
}

GAUGEBLOCK_API Error cudaStreamCreateWithFlags(void **stream, unsigned flags) {
	return cudaStreamCreateWithPriority(stream, flags, 0);
}

GAUGEBLOCK_API Error cudaStreamCreate(void **stream) { return cudaStreamCreateWithFlags(stream, 0); }

GAUGEBLOCK_API Error cudaStreamDestroy(void *stream) {
	ON(stream, number, device)
	if (gaugeblock_is_default(stream)) {
		return ended(INVALID_HANDLE);
	}
	WORDS(device, number);
	return DO(STREAM_DESTROY);
}

GAUGEBLOCK_API Error cudaStreamSynchronize(void *stream) {
	ON(stream, number, device)
	WORDS(device, number);
	return DO(STREAM_SYNCHRONIZE);
}

GAUGEBLOCK_API Error cudaStreamQuery(void *stream) {
	ON(stream, number, device)
	WORDS(device, number);
	return DO(STREAM_QUERY);
}

GAUGEBLOCK_API Error cudaStreamGetId(void *stream, unsigned long long *id) {
	if (id == NULL) {
		return ended(INVALID_VALUE);
	}
	ON(stream, number, device)
	WORDS(device, number);
	int r = DO(STREAM_ID);
	*id = w[2];
	return r;
}

static Error making(void *stream, unsigned *flags, int *priority) {
	ON(stream, number, device)
	WORDS(device, number);
	int r = DO(STREAM_GET);
	if (flags != NULL) {
		*flags = (unsigned)w[2];
	}
	if (priority != NULL) {
		*priority = (int)w[3];
	}
	return r;
}

GAUGEBLOCK_API Error cudaStreamGetFlags(void *stream, unsigned *flags) {
	return flags == NULL ? ended(INVALID_VALUE) : making(stream, flags, NULL);
}

GAUGEBLOCK_API Error cudaStreamGetPriority(void *stream, int *priority) {
	return priority == NULL ? ended(INVALID_VALUE) : making(stream, NULL, priority);
}

GAUGEBLOCK_API Error cudaStreamGetDevice(void *stream, int *of) {
	if (of == NULL) {
		return ended(INVALID_VALUE);
	}
	ON(stream, number, device)
	(void)number;
	*of = (int)device;
	return 0;
}

GAUGEBLOCK_API Error cudaStreamWaitEvent(void *stream, void *event, unsigned flags) {
	ON(stream, number, device)
	(void)flags;
	WORDS(device, number, P(event));
	return DO(STREAM_WAIT);
}

GAUGEBLOCK_API Error cudaLaunchHostFunc(void *stream, void *function, void *data) {
	ON(stream, number, device)
	if (function == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(device, number, P(function), P(data));
	return DO(HOST_FUNCTION);
}

// A callback is told its stream and that nothing has gone wrong.
typedef struct { void (*function)(void *, Error, void *); void *stream, *data; } Callback;

static void call_back(void *data) {
	Callback c = *(Callback *)data;
	free(data);
	c.function(c.stream, 0, c.data);
}

GAUGEBLOCK_API Error cudaStreamAddCallback(void *stream, void (*function)(void *, Error, void *), void *data, unsigned flags) {
	if (function == NULL || flags != 0) {
		return ended(INVALID_VALUE);
	}
	Callback *c = malloc(sizeof *c);
	if (c == NULL) {
		return ended(OUT_OF_MEMORY);
	}
	*c = (Callback){function, stream, data};
	int r = cudaLaunchHostFunc(stream, (void *)call_back, c);
	if (r != 0) {
		free(c);
	}
	return r;
}

GAUGEBLOCK_API Error cudaEventCreateWithFlags(void **event, unsigned flags) {
	if (event == NULL) {
		return ended(INVALID_VALUE);
	}
	enum { KNOWN = 7 };
	if (flags & ~KNOWN) {
		return ended(INVALID_VALUE);
	}
	WORDS(CURRENT, 0, flags);
	int r = DO(EVENT_CREATE);
	if (r == 0) {
		*event = (void *)w[1];
	}
	return r;
}

GAUGEBLOCK_API Error cudaEventCreate(void **event) { return cudaEventCreateWithFlags(event, 0); }

GAUGEBLOCK_API Error cudaEventElapsedTime(float *ms, void *from, void *to) {
	if (ms == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(P(from), P(to));
	int r = DO(EVENT_ELAPSED);
	if (r == 0) {
		*ms = (float)((double)(int64_t)w[2] / 1e6);
	}
	return r;
}

#if GAUGEBLOCK_CUDART < 13
GAUGEBLOCK_API Error cudaEventElapsedTime_v2(float *ms, void *from, void *to) { return cudaEventElapsedTime(ms, from, to); }
#endif

GAUGEBLOCK_API Error cudaIpcGetEventHandle(Handle *handle, void *event) {
	if (handle == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(P(event), P(handle));
	return DO(EVENT_SHARE);
}

GAUGEBLOCK_API Error cudaIpcOpenEventHandle(void **event, Handle handle) {
	if (event == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(P(&handle));
	int r = DO(EVENT_OPEN);
	if (r == 0) {
		*event = (void *)w[1];
	}
	return r;
}

GAUGEBLOCK_API Error cudaEventRecord(void *event, void *stream) {
	ON(stream, number, device)
	WORDS(P(event), device, number);
	return DO(EVENT_RECORD);
}

GAUGEBLOCK_API Error cudaEventRecordWithFlags(void *event, void *stream, unsigned flags) {
	if (flags != 0) {
		return ended(gaugeblock_lacks("cudaEventRecordWithFlags with flags"));
	}
	return cudaEventRecord(event, stream);
}

GAUGEBLOCK_API Error cudaEventQuery(void *event) {
	WORDS(P(event));
	return DO(EVENT_QUERY);
}

GAUGEBLOCK_API Error cudaEventSynchronize(void *event) {
	WORDS(P(event));
	return DO(EVENT_SYNCHRONIZE);
}

GAUGEBLOCK_API Error cudaEventDestroy(void *event) {
	WORDS(P(event));
	return DO(EVENT_DESTROY);
}

// Captures and graphs.

GAUGEBLOCK_API Error cudaThreadExchangeStreamCaptureMode(int *mode) {
	if (mode == NULL) {
		return ended(INVALID_VALUE);
	}
	if (*mode < 0 || *mode > 2) {
		return ended(INVALID_VALUE);
	}
	*mode = gaugeblock_mode(1, *mode);
	return 0;
}

GAUGEBLOCK_API Error cudaStreamBeginCapture(void *stream, int mode) {
	ON(stream, number, device)
	WORDS(device, number, (uint64_t)mode);
	int r = DO(CAPTURE_BEGIN);
	gaugeblock_capturing(r == 0 ? 1 : 0);
	return r;
}

GAUGEBLOCK_API Error cudaStreamEndCapture(void *stream, void **graph) {
	if (graph == NULL) {
		return ended(INVALID_VALUE);
	}
	ON(stream, number, device)
	WORDS(device, number);
	int r = DO(CAPTURE_END);
	gaugeblock_capturing(-1);
	*graph = r == 0 ? (void *)w[2] : NULL;
	return r;
}

static Error capture_info(void *stream, int *status, uint64_t *id, void **graph,
	const void *const **nodes, const void **edges, size_t *count) {
	ON(stream, number, device)
	return ended(gaugeblock_capture_info(device, number, status, id, graph, nodes, edges, count));
}

GAUGEBLOCK_API Error cudaStreamIsCapturing(void *stream, int *status) {
	return capture_info(stream, status, NULL, NULL, NULL, NULL, NULL);
}

static Error dependencies(void *node, void **nodes, void *edges, size_t *count) {
	return ended(gaugeblock_node_dependencies(node, nodes, edges, count));
}

#if GAUGEBLOCK_CUDART >= 13
GAUGEBLOCK_API Error cudaStreamGetCaptureInfo(void *stream, int *status, uint64_t *id, void **graph,
	const void *const **nodes, const void **edges, size_t *count) {
	return capture_info(stream, status, id, graph, nodes, edges, count);
}

GAUGEBLOCK_API Error cudaGraphNodeGetDependencies(void *node, void **nodes, void *edges, size_t *count) {
	return dependencies(node, nodes, edges, count);
}
#else
GAUGEBLOCK_API Error cudaStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **graph,
	const void *const **nodes, size_t *count) {
	return capture_info(stream, status, id, graph, nodes, NULL, count);
}

GAUGEBLOCK_API Error cudaStreamGetCaptureInfo_v3(void *stream, int *status, uint64_t *id, void **graph,
	const void *const **nodes, const void **edges, size_t *count) {
	return capture_info(stream, status, id, graph, nodes, edges, count);
}

GAUGEBLOCK_API Error cudaGraphNodeGetDependencies(void *node, void **nodes, size_t *count) {
	return dependencies(node, nodes, NULL, count);
}

GAUGEBLOCK_API Error cudaGraphNodeGetDependencies_v2(void *node, void **nodes, void *edges, size_t *count) {
	return dependencies(node, nodes, edges, count);
}
#endif

GAUGEBLOCK_API Error cudaGraphGetNodes(void *graph, void **nodes, size_t *count) {
	if (count == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(P(graph), P(gaugeblock_nodes()), MAX_NODES);
	int r = DO(GRAPH_NODES);
	if (r != 0) {
		return r;
	}
	if (nodes != NULL) {
		size_t n = w[2] < *count ? w[2] : *count;
		memcpy(nodes, gaugeblock_nodes(), n * sizeof *nodes);
	}
	*count = w[2];
	return 0;
}

GAUGEBLOCK_API Error cudaGraphNodeGetType(void *node, int *type) {
	if (type == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(P(node));
	int r = DO(NODE_TYPE);
	if (r == 0) {
		*type = (int)w[1];
	}
	return r;
}

GAUGEBLOCK_API Error cudaGraphAddEmptyNode(void **node, void *graph, void *const *after, size_t count) {
	if (node == NULL || (after == NULL && count > 0) || count > MAX_NODES) {
		return ended(INVALID_VALUE);
	}
	WORDS(P(graph), P(after), count);
	int r = DO(GRAPH_EMPTY_NODE);
	if (r == 0) {
		*node = (void *)w[3];
	}
	return r;
}

// flags: cudaStreamAddCaptureDependencies is 0, cudaStreamSetCaptureDependencies 1.
static Error depends(void *stream, void *const *nodes, size_t count, unsigned flags) {
	if (flags > 1 || (nodes == NULL && count > 0) || count > MAX_NODES) {
		return ended(INVALID_VALUE);
	}
	if (flags == 0) {
		return ended(gaugeblock_lacks("adding dependencies to a capture"));
	}
	ON(stream, number, device)
	WORDS(device, number, P(nodes), count);
	return DO(CAPTURE_DEPENDS);
}

#if GAUGEBLOCK_CUDART >= 13
GAUGEBLOCK_API Error cudaStreamUpdateCaptureDependencies(void *stream, void *const *nodes, const void *edges, size_t count,
	unsigned flags) {
	if (edges != NULL) {
		return ended(gaugeblock_lacks("edges of a capture with data"));
	}
	return depends(stream, nodes, count, flags);
}
#else
GAUGEBLOCK_API Error cudaStreamUpdateCaptureDependencies(void *stream, void *const *nodes, size_t count, unsigned flags) {
	return depends(stream, nodes, count, flags);
}
#endif

// cudaGraphMemAttrUsedMemCurrent is 0, cudaGraphMemAttrReservedMemCurrent 2.
GAUGEBLOCK_API Error cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value) {
	if (value == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS((uint64_t)device);
	int r = DO(GRAPH_MEMORY);
	if (r == 0 && attribute != 0 && attribute != 2) {
		return ended(gaugeblock_lacks("an attribute of graphs' memory other than what is there"));
	}
	if (r == 0) {
		*(uint64_t *)value = w[attribute == 0 ? 1 : 2];
	}
	return r;
}

GAUGEBLOCK_API Error cudaDeviceGraphMemTrim(int device) {
	WORDS((uint64_t)device);
	return DO(GRAPH_MEMORY); // nothing is kept
}

GAUGEBLOCK_API Error cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags) {
	if (exec == NULL) {
		return ended(INVALID_VALUE);
	}
	(void)flags;
	WORDS(P(graph));
	int r = DO(GRAPH_INSTANTIATE);
	if (r == 0) {
		*exec = (void *)w[1];
	}
	return r;
}

GAUGEBLOCK_API Error cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
	return cudaGraphInstantiate(exec, graph, flags);
}

// Objects that a graph keeps: the function that ends one is called when nobody holds it any more.
// Graphs hold what they were given as long as the program runs.
typedef struct UserObject {
	struct UserObject *next;
	void *data;
	void (*end)(void *);
	unsigned held;
} UserObject;

static UserObject *objects; // those that are held
static pthread_mutex_t objects_mutex = PTHREAD_MUTEX_INITIALIZER;

GAUGEBLOCK_API Error cudaUserObjectCreate(void **made, void *data, void (*end)(void *), unsigned held, unsigned flags) {
	(void)flags;
	if (made == NULL || end == NULL || held == 0) {
		return ended(INVALID_VALUE);
	}
	UserObject *o = malloc(sizeof *o);
	if (o == NULL) {
		return ended(OUT_OF_MEMORY);
	}
	pthread_mutex_lock(&objects_mutex);
	*o = (UserObject){objects, data, end, held};
	objects = o;
	pthread_mutex_unlock(&objects_mutex);
	*made = o;
	return 0;
}

// hold changes how often an object is held, and ends one that nobody holds any more.
static Error hold(const void *object, int64_t change) {
	pthread_mutex_lock(&objects_mutex);
	UserObject **at = &objects, *o;
	while (*at != NULL && *at != object) {
		at = &(*at)->next;
	}
	o = *at;
	if (o == NULL || (int64_t)o->held + change < 0) {
		pthread_mutex_unlock(&objects_mutex);
		return ended(INVALID_VALUE);
	}
	o->held = (unsigned)(o->held + change);
	unsigned left = o->held;
	if (left == 0) {
		*at = o->next;
	}
	pthread_mutex_unlock(&objects_mutex);
	if (left == 0) {
		o->end(o->data);
		free(o);
	}
	return 0;
}

GAUGEBLOCK_API Error cudaUserObjectRetain(void *object, unsigned count) { return hold(object, count); }
GAUGEBLOCK_API Error cudaUserObjectRelease(void *object, unsigned count) { return hold(object, -(int64_t)count); }

GAUGEBLOCK_API Error cudaGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags) {
	enum { MOVE = 1 }; // the caller's hold becomes the graph's
	(void)graph;
	return flags & MOVE ? 0 : cudaUserObjectRetain(object, count);
}

GAUGEBLOCK_API Error cudaGraphLaunch(void *exec, void *stream) {
	ON(stream, number, device)
	WORDS(P(exec), device, number);
	gaugeblock_replayed();
	return DO(GRAPH_LAUNCH);
}

GAUGEBLOCK_API Error cudaGraphDestroy(void *graph) {
	WORDS(P(graph));
	return DO(GRAPH_DESTROY);
}

GAUGEBLOCK_API Error cudaGraphExecDestroy(void *exec) {
	WORDS(P(exec));
	return DO(EXEC_DESTROY);
}

// Work. Which side of a copy is the device's is seen from the address.

static int of_device(const void *ptr, uint64_t *device) {
	WORDS(P(ptr));
	int found = gaugeblock_do(GAUGEBLOCK_POINTER, w) == 0 && w[1] != 0;
	*device = found ? w[2] : *device;
	return found;
}

// known reports whether memory of the host is one that the device reaches.
static int known(const void *at) { return gaugeblock_host_find((void *)at, NULL); }

// The addresses say what is copied where. Of the direction an H200 looks only at this: that what is to be
// memory of a device is memory that the device reaches (testdata/growth.txt).
GAUGEBLOCK_API Error cudaMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream) {
	enum { TO_DEVICE = 1, FROM_DEVICE, BETWEEN, BY_ADDRESS, INVALID_DIRECTION = 21 };
	if (bytes > 0 && (kind < 0 || kind > BY_ADDRESS)) {
		return ended(INVALID_DIRECTION);
	}
	if (bytes > 0 && (dst == NULL || src == NULL)) {
		return ended(INVALID_VALUE);
	}
	ON(stream, number, device)
	uint64_t to = device, from = device;
	int to_device = of_device(dst, &to), from_device = of_device(src, &from);
	int to_known = to_device || known(dst), from_known = from_device || known(src);
	int wrong = ((kind == TO_DEVICE || kind == BETWEEN) && !to_known) || ((kind == FROM_DEVICE || kind == BETWEEN) && !from_known);
	if (wrong && bytes > 0) {
		return ended(INVALID_VALUE);
	}
	if (to_known && from_known) {
		// memory of the host counts as the other side's device's
		to = to_device || !from_device ? to : from, from = from_device || !to_device ? from : to;
		if (to_device && !from_device) {
			gaugeblock_uploaded(dst, src, bytes);
		} else if (to_device) {
			gaugeblock_copied(dst, src, bytes);
		}
		WORDS(device, number, P(dst), to, P(src), from, bytes);
		int r = DO(COPY);
		if (from_device && !to_device) {
			gaugeblock_downloaded(dst, src, bytes);
		}
		return r;
	}
	if (to_known) {
		gaugeblock_uploaded(dst, src, bytes);
		WORDS(device, number, P(dst), P(src), bytes);
		return DO(COPY_IN);
	}
	if (from_known) {
		WORDS(device, number, P(dst), P(src), bytes);
		int r = DO(COPY_OUT);
		gaugeblock_downloaded(dst, src, bytes);
		return r;
	}
	if (bytes > 0) {
		memmove(dst, src, bytes);
	}
	return 0;
}

GAUGEBLOCK_API Error cudaMemcpy(void *dst, const void *src, size_t bytes, int kind) {
	int r = cudaMemcpyAsync(dst, src, bytes, kind, NULL);
	if (r != 0) {
		return r;
	}
	enum { RELAXED = 2 };
	ON(NULL, number, device)
	WORDS(device, number, 1);
	int mode = gaugeblock_mode(1, RELAXED); // no capture forbids this wait
	r = DO(STREAM_SYNCHRONIZE);
	gaugeblock_mode(1, mode);
	return r;
}

GAUGEBLOCK_API Error cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t bytes, void *stream) {
	ON(stream, number, device)
	WORDS(device, number, P(dst), (uint64_t)to, P(src), (uint64_t)from, bytes);
	return DO(COPY);
}

GAUGEBLOCK_API Error cudaMemsetAsync(void *ptr, int value, size_t bytes, void *stream) {
	ON(stream, number, device)
	gaugeblock_filled(ptr, value, bytes);
	WORDS(device, number, P(ptr), bytes, (uint64_t)(value & 0xff));
	return DO(FILL);
}

GAUGEBLOCK_API Error cudaMemset(void *ptr, int value, size_t bytes) { return cudaMemsetAsync(ptr, value, bytes, NULL); }

// Entry points of the driver.

GAUGEBLOCK_API Error cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
	unsigned long long flags, int *status) {
	if (name == NULL || function == NULL) {
		return ended(INVALID_VALUE);
	}
	int answer;
	(void)flags;
	*function = gaugeblock_entry_of(name, (int)version, &answer);
	if (status != NULL) {
		*status = answer;
	}
	return 0;
}

GAUGEBLOCK_API Error cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *status) {
	return cudaGetDriverEntryPointByVersion(name, function, GAUGEBLOCK_CUDART * 1000, flags, status);
}
