// Questions about pools of the driver: the pool of a device, attributes, when another stream gets
// memory, memory of the host and managed memory, and what is freed wrongly.
#include "say.h"

static cudaMemPool_t pool_of(int device) {
	struct cudaMemPoolProps props;
	cudaMemPool_t pool = NULL;
	unsigned long long all = ~0ull;
	memset(&props, 0, sizeof props);
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	props.location.id = device;
	if (cudaMemPoolCreate(&pool, &props) != cudaSuccess) exit(2);
	cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
	return pool;
}

static unsigned long long figure(cudaMemPool_t pool, int attribute) {
	unsigned long long value = 0;
	int r = (int)cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)attribute, &value);
	return r == 0 ? value : 1000000000ull + (unsigned)r;
}

static void of_device(void) {
	cudaMemPool_t standard, current, own, again;
	cudaStream_t s;
	void *p, *q;
	printf("== the pool of a device\n");
	SAY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	SAY(cudaDeviceGetDefaultMemPool(&standard, 0));
	SAY(cudaDeviceGetMemPool(&current, 0));
	TELL("it is the default pool", current == standard);
	SAY(cudaDeviceGetMemPool(&current, 99));
	SAY(cudaDeviceGetMemPool(NULL, 0));
	own = pool_of(0);
	SAY(cudaDeviceSetMemPool(0, own));
	SAY(cudaDeviceGetMemPool(&current, 0));
	TELL("it is the new pool", current == own);
	SAY(cudaMallocAsync(&p, 1 << 20, s));
	TELL("used of the new pool", figure(own, cudaMemPoolAttrUsedMemCurrent));
	TELL("used of the default pool", figure(standard, cudaMemPoolAttrUsedMemCurrent));
	SAY(cudaMallocFromPoolAsync(&q, 1 << 20, standard, s));
	TELL("used of the default pool", figure(standard, cudaMemPoolAttrUsedMemCurrent));
	SAY(cudaFreeAsync(q, s));
	SAY(cudaDeviceSetMemPool(0, NULL));
	(void)cudaGetLastError();
	SAY(cudaDeviceSetMemPool(99, own));
	SAY(cudaDeviceGetDefaultMemPool(&again, 0));
	TELL("the default pool is still the same", again == standard);
	SAY(cudaMemPoolDestroy(own));
	SAY(cudaDeviceGetMemPool(&current, 0));
	TELL("of the destroyed pool's device it is the default pool", current == standard);
	SAY(cudaMallocAsync(&q, 1 << 20, s));
	TELL("used of the default pool", figure(standard, cudaMemPoolAttrUsedMemCurrent));
	SAY(cudaFreeAsync(q, s));
	SAY(cudaFreeAsync(p, s));
	SAY(cudaMemPoolDestroy(standard));
	SAY(cudaMallocFromPoolAsync(&p, 1 << 20, NULL, s));
	(void)cudaGetLastError();
	SAY(cudaStreamSynchronize(s));
	int devices = 0;
	cudaGetDeviceCount(&devices);
	if (devices > 1) {
		own = pool_of(1);
		SAY(cudaDeviceSetMemPool(0, own));
		(void)cudaGetLastError();
		SAY(cudaDeviceSetMemPool(1, own));
		SAY(cudaMallocAsync(&p, 1 << 20, s));
		TELL("used of the other device's pool", figure(own, cudaMemPoolAttrUsedMemCurrent));
		SAY(cudaFreeAsync(p, s));
		SAY(cudaMallocFromPoolAsync(&p, 1 << 20, own, s));
		TELL("used of the other device's pool", figure(own, cudaMemPoolAttrUsedMemCurrent));
		SAY(cudaFreeAsync(p, s));
		SAY(cudaMemPoolDestroy(own));
		cudaSetDevice(1);
		cudaStream_t other;
		SAY(cudaStreamCreate(&other));
		SAY(cudaMallocAsync(&p, 1 << 20, other));
		cudaSetDevice(0);
		SAY(cudaFreeAsync(p, other));
		SAY(cudaStreamSynchronize(other));
		SAY(cudaMallocAsync(&p, 1 << 20, other));
		TELL("used of the first default pool", figure(standard, cudaMemPoolAttrUsedMemCurrent));
		SAY(cudaDeviceGetDefaultMemPool(&again, 1));
		TELL("used of the second default pool", figure(again, cudaMemPoolAttrUsedMemCurrent));
		SAY(cudaFreeAsync(p, s));
		SAY(cudaStreamSynchronize(s));
		SAY(cudaStreamDestroy(other));
	}
	SAY(cudaStreamDestroy(s));
}

static void attributes(void) {
	cudaMemPool_t pool = pool_of(0), created;
	struct cudaMemPoolProps props;
	unsigned long long value = 5;
	int flag = 0;
	printf("== attributes\n");
	for (int a = 0; a <= 14; a++) {
		char line[80];
		value = 0;
		snprintf(line, sizeof line, "attribute %d: error", a);
		TELL(line, cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)a, &value));
		snprintf(line, sizeof line, "attribute %d", a);
		TELL(line, a <= 3 ? (unsigned)value : value);
	}
	(void)cudaGetLastError();
	for (int a = 1; a <= 3; a++) {
		for (int v = 0; v <= 2; v += 2) {
			flag = v;
			TELL("set a flag", cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)a, &flag));
			flag = 9;
			TELL("get it", cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)a, &flag));
			TELL("its value", flag);
		}
	}
	for (int a = 5; a <= 8; a++) {
		value = 5;
		TELL("set a figure to 5", cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)a, &value));
		value = 0;
		TELL("set a figure to 0", cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)a, &value));
	}
	(void)cudaGetLastError();
	SAY(cudaMemPoolDestroy(pool));
	memset(&props, 0, sizeof props);
	SAY(cudaMemPoolCreate(&created, &props));
	props.allocType = cudaMemAllocationTypePinned;
	SAY(cudaMemPoolCreate(&created, &props));
	props.location.type = cudaMemLocationTypeDevice;
	props.location.id = 99;
	SAY(cudaMemPoolCreate(&created, &props));
	props.location.id = 0;
	props.maxSize = 64 << 20;
	SAY(cudaMemPoolCreate(&created, &props));
	void *p, *q;
	SAY(cudaMallocFromPoolAsync(&p, 48 << 20, created, 0));
	SAY(cudaMallocFromPoolAsync(&q, 48 << 20, created, 0));
	(void)cudaGetLastError();
	SAY(cudaFreeAsync(p, 0));
	SAY(cudaMallocFromPoolAsync(&q, 48 << 20, created, 0));
	SAY(cudaFreeAsync(q, 0));
	SAY(cudaStreamSynchronize(0));
	SAY(cudaMemPoolDestroy(created));
}

enum { FOLLOW = 1, OPPORTUNISTIC = 2, INTERNAL = 4 };
enum { HELD = 1, EVENT_BEHIND = 2, EVENT_BEFORE = 4, LIMITED = 8 };

// reuse: a stream frees 32 MiB, and another one asks for as much.
static void reuse(const char *what, int may, int how) {
	cudaMemPool_t pool = pool_of(0);
	cudaStream_t s, t;
	cudaEvent_t e;
	void *p, *q = NULL;
	for (int a = 1; a <= 3; a++) {
		int flag = may >> (a - 1) & 1;
		cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)a, &flag);
	}
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
	cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
	cudaMallocFromPoolAsync(&p, 32 << 20, pool, s);
	if (how & HELD) hold(s, 0);
	if (how & EVENT_BEFORE) cudaEventRecord(e, s);
	cudaFreeAsync(p, s);
	if (how & EVENT_BEHIND) cudaEventRecord(e, s);
	if (!(how & HELD)) cudaStreamSynchronize(s);
	if (how & (EVENT_BEHIND | EVENT_BEFORE)) cudaStreamWaitEvent(t, e, 0);
	int r = (int)cudaMallocFromPoolAsync(&q, 32 << 20, pool, t);
	cudaEventRecord(e, t);
	usleep(20000);
	printf("%-60s %d same %d waits %d\n", what, r, p == q, cudaEventQuery(e) != cudaSuccess);
	let_go(0);
	cudaFreeAsync(q, t);
	cudaDeviceSynchronize();
	cudaMemPoolDestroy(pool);
	cudaEventDestroy(e);
	cudaStreamDestroy(s);
	cudaStreamDestroy(t);
}

static void reuses(void) {
	printf("== memory that another stream has freed\n");
	hold(0, 0);
	let_go(0);
	cudaDeviceSynchronize();
	reuse("the free is over; no flag", 0, 0);
	reuse("the free is over; opportunistic", OPPORTUNISTIC, 0);
	reuse("the free is over; follows events", FOLLOW, 0);
	reuse("the free is over; internal", INTERNAL, 0);
	reuse("the free is not over; no flag", 0, HELD);
	reuse("the free is not over; opportunistic", OPPORTUNISTIC, HELD);
	reuse("the free is not over; internal", INTERNAL, HELD);
	reuse("the free is not over; all", FOLLOW | OPPORTUNISTIC | INTERNAL, HELD);
	reuse("an event behind the free; no flag", 0, HELD | EVENT_BEHIND);
	reuse("an event behind the free; follows events", FOLLOW, HELD | EVENT_BEHIND);
	reuse("an event behind the free; opportunistic", OPPORTUNISTIC, HELD | EVENT_BEHIND);
	reuse("an event behind the free; all", FOLLOW | OPPORTUNISTIC | INTERNAL, HELD | EVENT_BEHIND);
	reuse("an event before the free; follows events", FOLLOW, HELD | EVENT_BEFORE);
	reuse("an event before the free; all", FOLLOW | OPPORTUNISTIC | INTERNAL, HELD | EVENT_BEFORE);
}

// Reuse by the stream, not by its handle.
static void handles(void) {
	cudaMemPool_t pool = pool_of(0);
	cudaStream_t s, t;
	void *p, *q;
	int off = 0;
	printf("== a stream that is destroyed with a free pending\n");
	cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &off);
	SAY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	SAY(cudaMallocFromPoolAsync(&p, 32 << 20, pool, s));
	hold(s, 0);
	SAY(cudaFreeAsync(p, s));
	SAY(cudaStreamDestroy(s));
	SAY(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	SAY(cudaMallocFromPoolAsync(&q, 32 << 20, pool, t));
	TELL("the memory is the same", p == q);
	let_go(0);
	SAY(cudaDeviceSynchronize());
	SAY(cudaFreeAsync(q, t));
	SAY(cudaStreamSynchronize(t));
	SAY(cudaStreamDestroy(t));
	SAY(cudaMemPoolDestroy(pool));
}

static void other_kind(const char *name, int type, int location, int id) {
	struct cudaMemPoolProps props;
	cudaMemPool_t pool;
	cudaStream_t s;
	char *p = NULL;
	struct cudaPointerAttributes about;
	printf("-- %s\n", name);
	memset(&props, 0, sizeof props);
	props.allocType = (enum cudaMemAllocationType)type;
	props.location.type = (enum cudaMemLocationType)location;
	props.location.id = id;
	int r = (int)cudaMemPoolCreate(&pool, &props);
	TELL("cudaMemPoolCreate", r);
	(void)cudaGetLastError();
	if (r != 0) return;
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	SAY(cudaMallocFromPoolAsync((void **)&p, 4096, pool, s));
	SAY(cudaStreamSynchronize(s));
	SAY(cudaPointerGetAttributes(&about, p));
	TELL("kind of memory", about.type);
	TELL("the device has it at the same address", about.devicePointer == p);
	TELL("the host has it at the same address", about.hostPointer == p);
	TELL("used", figure(pool, cudaMemPoolAttrUsedMemCurrent));
	TELL("some memory is reserved", figure(pool, cudaMemPoolAttrReservedMemCurrent) >= 4096);
	SAY(cudaMemsetAsync(p, 7, 4096, s));
	SAY(cudaStreamSynchronize(s));
	TELL("the host reads", type == cudaMemAllocationTypePinned && location == cudaMemLocationTypeDevice ? 0 : p[4095]);
	SAY(cudaFreeAsync(p, s));
	TELL("used", figure(pool, cudaMemPoolAttrUsedMemCurrent));
	SAY(cudaStreamSynchronize(s));
	TELL("reserved", figure(pool, cudaMemPoolAttrReservedMemCurrent));
	SAY(cudaMallocFromPoolAsync((void **)&p, 4096, pool, s));
	SAY(cudaFree(p));
	(void)cudaGetLastError();
	SAY(cudaMemPoolDestroy(pool));
	SAY(cudaStreamDestroy(s));
}

static void kinds(void) {
	struct cudaMemLocation l;
	cudaMemPool_t pool, again;
	printf("== pools of other memory\n");
	other_kind("memory of the device", cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, 0);
	other_kind("pinned memory of the host", cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0);
	other_kind("pinned memory of node 0", cudaMemAllocationTypePinned, 3, 0);
	other_kind("managed memory, of the device", cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0);
	other_kind("managed memory, of the host", cudaMemAllocationTypeManaged, cudaMemLocationTypeHost, 0);
	other_kind("managed memory, of nobody", cudaMemAllocationTypeManaged, 0, 0);
	const int places[] = {1, 2, 0};
	for (int type = 1; type <= 2; type++) {
		for (int i = 0; i < 3; i++) {
			char line[80];
			l.type = (enum cudaMemLocationType)places[i];
			l.id = 0;
			snprintf(line, sizeof line, "cudaMemGetDefaultMemPool of place %d, memory %d", places[i], type);
			int r = (int)cudaMemGetDefaultMemPool(&pool, &l, (enum cudaMemAllocationType)type);
			TELL(line, r);
			if (r == 0) {
				TELL("cudaMemGetMemPool", cudaMemGetMemPool(&again, &l, (enum cudaMemAllocationType)type));
				TELL("it is the same", again == pool);
			}
		}
	}
	(void)cudaGetLastError();
}

static void wrong(void) {
	void *p, *q, *h;
	char stranger[64];
	cudaStream_t s;
	printf("== what is freed wrongly\n");
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	cudaMalloc(&p, 4096);
	cudaMallocHost(&h, 4096);
	SAY(cudaFreeAsync(NULL, s));
	SAY(cudaFreeAsync(stranger, s));
	SAY(cudaFreeAsync(h, s));
	SAY(cudaMallocAsync(&q, 4096, s));
	SAY(cudaFreeAsync((char *)q + 512, s));
	SAY(cudaFreeAsync(q, s));
	SAY(cudaFreeAsync(q, s));
	SAY(cudaFree(q));
	SAY(cudaGetLastError());
	q = h;
	SAY(cudaMallocAsync(&q, 0, s));
	TELL("it is no address", q == NULL);
	SAY(cudaMallocAsync(NULL, 4096, s));
	SAY(cudaMallocAsync(&q, (size_t)1 << 50, s));
	(void)cudaGetLastError();
	SAY(cudaFreeAsync(p, s));
	SAY(cudaStreamSynchronize(s));
	SAY(cudaGetLastError());
	cudaFreeHost(h);
	cudaStreamDestroy(s);
}

int main(void) {
	cudaFree(0);
	of_device();
	attributes();
	reuses();
	handles();
	kinds();
	wrong();
	return 0;
}
