// Questions about memory of the host that devices can reach, and about managed memory: what is given,
// what a pointer is said to be, who may free it, and what the device may do with it.
#include "say.h"

static void attributes(const char *name, void *p) {
	struct cudaPointerAttributes a;
	memset(&a, 0x55, sizeof a);
	int r = (int)cudaPointerGetAttributes(&a, p);
	printf("-- attributes of %s: error %d\n", name, r);
	(void)cudaGetLastError();
	if (r != 0) return;
	TELL("kind", a.type);
	TELL("device", a.device);
	TELL("the device has it at this address", a.devicePointer == p);
	TELL("the host has it at this address", a.hostPointer == p);
}

static void pinned(void) {
	void *p, *q, *d;
	unsigned f;
	static char stranger[8192];
	char *heap = (char *)aligned_alloc(4096, 8192);
	printf("== pinned memory\n");
	p = stranger;
	SAY(cudaHostAlloc(&p, 0, 0));
	TELL("it is no address", p == NULL);
	p = stranger;
	SAY(cudaMallocHost(&p, 0));
	TELL("it is no address", p == NULL);
	SAY(cudaMallocHost(NULL, 4096));
	SAY(cudaHostAlloc(&p, (size_t)1 << 50, 0));
	(void)cudaGetLastError();
	const unsigned flags[] = {0, 1, 2, 4, 7, 8, 16};
	for (int i = 0; i < 7; i++) {
		int r = (int)cudaHostAlloc(&p, 4096, flags[i]);
		printf("cudaHostAlloc with flags %u: %d\n", flags[i], r);
		(void)cudaGetLastError();
		if (r != 0) continue;
		SAY(cudaHostGetFlags(&f, p));
		TELL("flags", f);
		SAY(cudaHostGetDevicePointer(&d, p, 0));
		TELL("the device has it at the same address", d == p);
		SAY(cudaFreeHost(p));
	}
	SAY(cudaFreeHost(NULL));
	SAY(cudaFreeHost(stranger));
	SAY(cudaHostAlloc(&p, 8192, 0));
	SAY(cudaFreeHost((char *)p + 4096));
	SAY(cudaFree(p));
	SAY(cudaFreeHost(p));
	SAY(cudaFreeHost(p));
	SAY(cudaMalloc(&q, 4096));
	SAY(cudaFreeHost(q));
	SAY(cudaHostGetFlags(&f, q));
	SAY(cudaHostGetDevicePointer(&d, stranger, 0));
	SAY(cudaFree(q));
	SAY(cudaFree(stranger));
	SAY(cudaGetLastError());
	SAY(cudaHostRegister(heap, 0, 0));
	SAY(cudaHostRegister(NULL, 4096, 0));
	SAY(cudaHostRegister(heap, 8192, 0));
	SAY(cudaHostRegister(heap, 8192, 0));
	SAY(cudaHostRegister(heap + 4096, 4096, 0));
	SAY(cudaHostGetFlags(&f, heap));
	TELL("flags", f);
	SAY(cudaFreeHost(heap));
	SAY(cudaHostUnregister(heap + 4096));
	SAY(cudaHostUnregister(heap));
	SAY(cudaHostUnregister(heap));
	SAY(cudaGetLastError());
}

static void pointers(void) {
	void *pinned, *device, *managed, *pooled, *heap = aligned_alloc(4096, 8192), *stranger = malloc(64);
	printf("== what pointers are said to be\n");
	SAY(cudaMallocHost(&pinned, 8192));
	SAY(cudaMalloc(&device, 8192));
	SAY(cudaMallocManaged(&managed, 8192, cudaMemAttachGlobal));
	SAY(cudaMallocAsync(&pooled, 8192, 0));
	SAY(cudaHostRegister(heap, 8192, 0));
	attributes("pinned memory", pinned);
	attributes("the middle of pinned memory", (char *)pinned + 100);
	attributes("registered memory", heap);
	attributes("the device's memory", device);
	attributes("a pool's memory", pooled);
	attributes("managed memory", managed);
	attributes("a stranger", stranger);
	attributes("nothing", NULL);
	SAY(cudaPointerGetAttributes(NULL, device));
	SAY(cudaFreeHost(managed));
	SAY(cudaFreeAsync(managed, 0));
	SAY(cudaStreamSynchronize(0));
	(void)cudaGetLastError();
	SAY(cudaHostUnregister(heap));
	SAY(cudaFreeHost(pinned));
	SAY(cudaFreeAsync(pooled, 0));
	SAY(cudaFree(device));
	attributes("freed memory of the device", device);
}

static void work(void) {
	char *p, *d, *m;
	cudaStream_t s;
	printf("== work on it\n");
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	SAY(cudaMallocHost((void **)&p, 4096));
	SAY(cudaMalloc((void **)&d, 4096));
	SAY(cudaMallocManaged((void **)&m, 4096, cudaMemAttachGlobal));
	SAY(cudaMemsetAsync(p, 3, 4096, s));
	SAY(cudaStreamSynchronize(s));
	TELL("pinned memory has", p[4095]);
	SAY(cudaMemsetAsync(m, 4, 4096, s));
	SAY(cudaStreamSynchronize(s));
	TELL("managed memory has", m[4095]);
	m[0] = 5;
	SAY(cudaMemcpyAsync(d, m, 4096, cudaMemcpyDefault, s));
	SAY(cudaMemcpyAsync(p, d, 4096, cudaMemcpyDefault, s));
	SAY(cudaStreamSynchronize(s));
	TELL("the first byte", p[0]);
	TELL("the second byte", p[1]);
	p[0] = 6;
	SAY(cudaMemcpyAsync(m, p, 4096, cudaMemcpyDefault, s));
	SAY(cudaStreamSynchronize(s));
	TELL("the first byte", m[0]);
	hold(s, 0);
	SAY(cudaMemcpyAsync(d, p, 4096, cudaMemcpyDefault, s));
	p[0] = 9;
	let_go(0);
	SAY(cudaStreamSynchronize(s));
	SAY(cudaMemcpy(m, d, 4096, cudaMemcpyDefault));
	TELL("of pinned memory the copy reads what it holds when it is the copy's turn", m[0]);
	SAY(cudaFree(m));
	SAY(cudaFree(d));
	SAY(cudaFreeHost(p));
	SAY(cudaStreamDestroy(s));
}

static void managed(void) {
	void *m, *d, *h;
	size_t before, after, total;
	int place;
	struct cudaMemLocation l;
	cudaStream_t s;
	printf("== managed memory\n");
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	cudaMalloc(&d, 4096);
	cudaMallocHost(&h, 4096);
	m = h;
	SAY(cudaMallocManaged(&m, 0, cudaMemAttachGlobal));
	TELL("it is no address", m == NULL);
	SAY(cudaMallocManaged(&m, 4096, 0));
	SAY(cudaMallocManaged(&m, 4096, 3));
	SAY(cudaMallocManaged(NULL, 4096, cudaMemAttachGlobal));
	SAY(cudaMallocManaged(&m, 4096, cudaMemAttachHost));
	SAY(cudaFree(m));
	SAY(cudaFree(m));
	(void)cudaGetLastError();
	cudaMemGetInfo(&before, &total);
	SAY(cudaMallocManaged(&m, 64 << 20, cudaMemAttachGlobal));
	cudaMemGetInfo(&after, &total);
	TELL("it takes memory of the device at once", before != after);
	SAY(cudaMemRangeGetAttribute(&place, 4, cudaMemRangeAttributeLastPrefetchLocation, m, 4096));
	TELL("last place", place);
	l.type = cudaMemLocationTypeDevice;
	l.id = 0;
	SAY(cudaMemPrefetchAsync(m, 64 << 20, l, 0, s));
	SAY(cudaStreamSynchronize(s));
	cudaMemGetInfo(&after, &total);
	TELL("fetched, it takes memory of the device", before - after >= 64 << 20);
	SAY(cudaMemRangeGetAttribute(&place, 4, cudaMemRangeAttributeLastPrefetchLocation, m, 4096));
	TELL("last place", place);
	l.type = cudaMemLocationTypeHost;
	SAY(cudaMemPrefetchAsync(m, 64 << 20, l, 0, s));
	SAY(cudaStreamSynchronize(s));
	SAY(cudaMemRangeGetAttribute(&place, 4, cudaMemRangeAttributeLastPrefetchLocation, m, 4096));
	TELL("last place", place);
	l.type = cudaMemLocationTypeDevice;
	l.id = 99;
	SAY(cudaMemPrefetchAsync(m, 4096, l, 0, s));
	l.id = 0;
	SAY(cudaMemPrefetchAsync(m, 4096, l, 1, s));
	SAY(cudaMemPrefetchAsync(m, 0, l, 0, s));
	SAY(cudaMemPrefetchAsync(d, 4096, l, 0, s));
	SAY(cudaMemPrefetchAsync(h, 4096, l, 0, s));
	SAY(cudaMemAdvise(m, 4096, cudaMemAdviseSetReadMostly, l));
	SAY(cudaMemAdvise(m, 4096, cudaMemAdviseSetPreferredLocation, l));
	SAY(cudaMemAdvise(d, 4096, cudaMemAdviseSetReadMostly, l));
	SAY(cudaMemRangeGetAttribute(&place, 4, cudaMemRangeAttributeReadMostly, m, 4096));
	TELL("mostly read", place);
	SAY(cudaMemRangeGetAttribute(&place, 4, cudaMemRangeAttributePreferredLocation, m, 4096));
	TELL("preferred place", place);
	(void)cudaGetLastError();
	hold(s, 0);
	SAY(cudaStreamAttachMemAsync(s, m, 0, cudaMemAttachGlobal));
	let_go(0);
	SAY(cudaStreamSynchronize(s));
	SAY(cudaFree(m));
	SAY(cudaFree(d));
	SAY(cudaFreeHost(h));
	SAY(cudaStreamDestroy(s));
}

int main(void) {
	cudaFree(0);
	pinned();
	pointers();
	work();
	managed();
	return 0;
}
