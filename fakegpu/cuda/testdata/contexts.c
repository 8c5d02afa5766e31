// Questions to the driver's interface: contexts, entry points by version, pointers, modules.
#include "say.h"

#include <dlfcn.h>

static void contexts(void) {
	CUcontext c = NULL, d = NULL, own;
	CUdevice device = -1;
	CUdeviceptr p = 0;
	CUstream s;
	unsigned flags = 9, version = 0;
	int active = 9, n = 0;
	printf("== contexts\n");
	SAY(cuDeviceGetCount(&n));
	SAY(cuMemAlloc(&p, 4096));
	SAY(cuInit(1));
	SAY(cuInit(0));
	SAY(cuInit(0));
	SAY(cuMemAlloc(&p, 4096));
	SAY(cuMemFree(0));
	SAY(cuCtxGetCurrent(&c));
	TELL("there is none", c == NULL);
	SAY(cuCtxGetDevice(&device));
	SAY(cuCtxSynchronize());
	SAY(cuStreamCreate(&s, 0));
	SAY(cuCtxPopCurrent(&c));
	SAY(cuCtxSetCurrent(NULL));
	SAY(cuCtxPushCurrent(NULL));
	SAY(cuDeviceGet(&device, 0));
	SAY(cuDeviceGet(&device, 99));
	SAY(cuDeviceGet(&device, -1));
	device = 0;
	SAY(cuDevicePrimaryCtxGetState(device, &flags, &active));
	TELL("flags", flags);
	TELL("active", active);
	SAY(cuDevicePrimaryCtxRelease(device));
	SAY(cuDevicePrimaryCtxRetain(&c, device));
	SAY(cuDevicePrimaryCtxGetState(device, &flags, &active));
	TELL("active", active);
	SAY(cuCtxGetCurrent(&d));
	TELL("a retained context is current", d == c);
	SAY(cuDevicePrimaryCtxRetain(&d, device));
	TELL("it is the same again", d == c);
	SAY(cuDevicePrimaryCtxRetain(&d, 99));
	SAY(cuCtxPushCurrent(c));
	SAY(cuCtxGetDevice(&device));
	TELL("device", device);
	SAY(cuCtxGetFlags(&flags));
	SAY(cuCtxGetApiVersion(c, &version));
	TELL("version", version);
	SAY(cuMemAlloc(&p, 0));
	SAY(cuMemAlloc(&p, 4096));
	SAY(cuCtxPushCurrent(c));
	SAY(cuCtxPopCurrent(&d));
	TELL("what is popped", d == c);
	SAY(cuCtxPopCurrent(NULL));
	SAY(cuCtxPopCurrent(&d));
	SAY(cuCtxSetCurrent(c));
	SAY(cuCtxCreate(&own, NULL, 0, 0));
	SAY(cuCtxGetCurrent(&d));
	TELL("a new context is current", d == own);
	TELL("it is another", own != c);
	SAY(cuCtxGetApiVersion(own, &version));
	TELL("version", version);
	CUdeviceptr q = 0;
	SAY(cuMemAlloc(&q, 4096));
	SAY(cuPointerGetAttribute(&d, CU_POINTER_ATTRIBUTE_CONTEXT, q));
	TELL("the memory is of the new context", d == own);
	SAY(cuPointerGetAttribute(&d, CU_POINTER_ATTRIBUTE_CONTEXT, p));
	TELL("the other memory is of the first context", d == c);
	SAY(cuCtxDestroy(own));
	SAY(cuCtxGetCurrent(&d));
	TELL("the first context is current", d == c);
	SAY(cuMemFree(q));
	SAY(cuCtxSetCurrent(own));
	SAY(cuCtxDestroy(NULL));
	SAY(cuCtxDestroy(c));
	SAY(cuMemFree(p));
	SAY(cuMemFree(p));
	SAY(cuMemFree(0));
	SAY(cuDevicePrimaryCtxRelease(0));
	SAY(cuDevicePrimaryCtxGetState(0, &flags, &active));
	TELL("active", active);
	SAY(cuDevicePrimaryCtxRelease(0));
	SAY(cuDevicePrimaryCtxGetState(0, &flags, &active));
	TELL("active", active);
	SAY(cuMemAlloc(&p, 4096));
	SAY(cuDevicePrimaryCtxRelease(0));
	SAY(cuDevicePrimaryCtxRetain(&c, 0));
	SAY(cuCtxSetCurrent(c));
}

static void *plain(const char *name) { return dlsym(RTLD_DEFAULT, name); }

// entries: which function is given for a name and a version. Its symbol is said, of those of its kind.
static void entry(const char *name, int version, int flags, const char *const *symbols) {
	void *f = NULL;
	CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)9;
	int r = (int)cuGetProcAddress(name, &f, version, (cuuint64_t)flags, &status);
	const char *which = f == NULL ? "none" : "another";
	for (int i = 0; symbols[i] != NULL; i++) {
		if (f != NULL && plain(symbols[i]) == f) which = symbols[i];
	}
	printf("%-40s version %5d flags %d: %3d status %d %s\n", name, version, flags, r, (int)status, which);
}

static void entries(void) {
	const char *const context[] = {"cuCtxCreate", "cuCtxCreate_v2", "cuCtxCreate_v3", "cuCtxCreate_v4", NULL};
	const char *const alloc[] = {"cuMemAlloc", "cuMemAlloc_v2", NULL};
	const char *const async[] = {"cuMemAllocAsync", "cuMemAllocAsync_ptsz", NULL};
	const char *const info[] = {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v3", "cuStreamGetCaptureInfo_ptsz", NULL};
	const char *const prefetch[] = {"cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", NULL};
	const char *const advise[] = {"cuMemAdvise", "cuMemAdvise_v2", NULL};
	const char *const uuid[] = {"cuDeviceGetUuid", "cuDeviceGetUuid_v2", NULL};
	const char *const proc[] = {"cuGetProcAddress", "cuGetProcAddress_v2", NULL};
	const char *const elapsed[] = {"cuEventElapsedTime", "cuEventElapsedTime_v2", NULL};
	const char *const none[] = {NULL};
	printf("== entry points by version\n");
	const int versions[] = {0, 2000, 3010, 3020, 4000, 11040, 12050, 13000, 13010, 13020, 14000, 99000};
	for (int i = 0; i < 12; i++) entry("cuCtxCreate", versions[i], 0, context);
	for (int i = 0; i < 12; i++) entry("cuMemAlloc", versions[i], 0, alloc);
	entry("cuMemAllocAsync", 11010, 0, async);
	entry("cuMemAllocAsync", 11020, 0, async);
	entry("cuMemAllocAsync", 11020, 1, async);
	entry("cuStreamGetCaptureInfo", 10000, 0, info);
	entry("cuStreamGetCaptureInfo", 10010, 0, info);
	entry("cuStreamGetCaptureInfo", 11030, 0, info);
	entry("cuStreamGetCaptureInfo", 12030, 0, info);
	entry("cuStreamGetCaptureInfo", 13000, 0, info);
	entry("cuMemPrefetchAsync", 8000, 0, prefetch);
	entry("cuMemPrefetchAsync", 12010, 0, prefetch);
	entry("cuMemPrefetchAsync", 12020, 0, prefetch);
	entry("cuMemAdvise", 8000, 0, advise);
	entry("cuMemAdvise", 12020, 0, advise);
	entry("cuDeviceGetUuid", 9020, 0, uuid);
	entry("cuDeviceGetUuid", 11040, 0, uuid);
	entry("cuGetProcAddress", 11030, 0, proc);
	entry("cuGetProcAddress", 12000, 0, proc);
	entry("cuEventElapsedTime", 2000, 0, elapsed);
	entry("cuEventElapsedTime", 12080, 0, elapsed);
	entry("cuMemAlloc_v2", 13000, 0, alloc);
	entry("cuNoSuchThing", 13000, 0, none);
	entry("", 13000, 0, none);
}

static void pointer(const char *name, CUdeviceptr p) {
	printf("-- attributes of %s\n", name);
	for (int a = 1; a <= 20; a++) {
		unsigned long long value = 0;
		if (a == 5) continue; // for peers in the kernel
		int r = (int)cuPointerGetAttribute(&value, (CUpointer_attribute)a, p);
		printf("attribute %2d: %3d", a, r);
		if (r == 0 && (a == 3 || a == 4 || a == 11 || a == 19)) printf(" %s", value == p ? "the pointer" : value == 0 ? "none" : "another");
		else if (r == 0 && (a == 1 || a == 7 || a == 17 || a == 20)) printf(" %s", value == 0 ? "none" : "one");
		else if (r == 0) printf(" %lld", (long long)(a == 9 ? (int)value : (long long)value));
		printf("\n");
	}
	CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_IS_MANAGED};
	unsigned type = 77, managed = 77;
	int ordinal = 77;
	void *data[] = {&type, &ordinal, &managed};
	SAY(cuPointerGetAttributes(3, asked, data, p));
	printf("type %u device %d managed %u\n", type, ordinal, managed & 0xff);
	CUdeviceptr base = 0;
	size_t bytes = 0;
	SAY(cuMemGetAddressRange(&base, &bytes, p));
	TELL("bytes", bytes);
}

static void pointers(void) {
	CUdeviceptr d = 0, m = 0, a = 0;
	void *h = NULL, *heap = aligned_alloc(4096, 8192);
	printf("== pointers\n");
	SAY(cuMemAlloc(&d, 4096));
	SAY(cuMemAllocHost(&h, 4096));
	SAY(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
	SAY(cuMemAllocAsync(&a, 4096, 0));
	SAY(cuMemHostRegister(heap, 8192, 0));
	SAY(cuStreamSynchronize(0));
	pointer("the device's memory", d);
	pointer("the middle of the device's memory", d + 100);
	pointer("pinned memory", (CUdeviceptr)(size_t)h);
	pointer("registered memory", (CUdeviceptr)(size_t)heap);
	pointer("managed memory", m);
	pointer("a pool's memory", a);
	pointer("a stranger", (CUdeviceptr)(size_t)&d);
	SAY(cuMemAllocHost(&h, 0));
	SAY(cuMemHostAlloc(&h, 0, 0));
	SAY(cuMemFreeHost(NULL));
	SAY(cuMemFreeHost(heap));
	SAY(cuMemAllocManaged(&m, 0, CU_MEM_ATTACH_GLOBAL));
	SAY(cuMemAllocManaged(&m, 4096, 0));
	SAY(cuMemAllocAsync(&m, 0, 0));
	SAY(cuMemFreeAsync(0, 0));
	SAY(cuMemFreeAsync(a, 0));
	SAY(cuMemFree(d));
}

static const char ptx[] =
	".version 7.0\n.target sm_50\n.address_size 64\n"
	".visible .global .align 4 .b8 table[64];\n"
	".visible .entry sets(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
	"ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, 7;\nst.global.u32 [%rd2], %r1;\nret;\n}\n";

static void modules(void) {
	CUmodule m = NULL;
	CUfunction f = NULL;
	CUdeviceptr g = 0;
	CUlibrary l = NULL;
	CUkernel k = NULL;
	size_t bytes = 0;
	int mode = 0, value = 0;
	const char *name = NULL;
	printf("== modules\n");
	SAY(cuModuleGetLoadingMode((CUmoduleLoadingMode *)&mode));
	TELL("mode", mode);
	SAY(cuModuleLoadData(&m, ptx));
	SAY(cuModuleGetFunction(&f, m, "sets"));
	SAY(cuModuleGetGlobal(&g, &bytes, m, "table"));
	SAY(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	TELL("value", value);
	SAY(cuFuncGetName(&name, f));
	printf("%s\n", name == NULL ? "none" : name);
	SAY(cuLaunchKernel(f, 1, 1, 1, 2000, 1, 1, 0, 0, NULL, NULL));
	SAY(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
	SAY(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
	SAY(cuModuleUnload(m));
	SAY(cuModuleLoadData(&m, "this is no module"));
	SAY(cuModuleLoadData(&m, NULL));
	SAY(cuModuleLoad(&m, "/nowhere/module.cubin"));
	SAY(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
	SAY(cuLibraryGetKernel(&k, l, "sets"));
	SAY(cuLibraryUnload(l));
}

static void streams(void) {
	CUstream s = NULL, t = NULL;
	unsigned flags = 9;
	int priority = 9, least, greatest;
	CUcontext c = NULL;
	CUevent e, f;
	float ms = -1;
	printf("== streams and events\n");
	SAY(cuStreamCreate(&s, 0));
	SAY(cuStreamGetFlags(s, &flags));
	TELL("flags", flags);
	SAY(cuStreamCreate(&t, 7));
	SAY(cuCtxGetStreamPriorityRange(&least, &greatest));
	TELL("greatest", greatest);
	SAY(cuStreamCreateWithPriority(&t, CU_STREAM_NON_BLOCKING, -100));
	SAY(cuStreamGetPriority(t, &priority));
	TELL("priority", priority);
	SAY(cuStreamGetFlags(t, &flags));
	TELL("flags", flags);
	SAY(cuStreamGetCtx(s, &c));
	SAY(cuStreamGetFlags(NULL, &flags));
	TELL("flags", flags);
	SAY(cuEventCreate(&e, 0));
	SAY(cuEventCreate(&f, 0));
	SAY(cuEventCreate(&f, 64));
	SAY(cuEventElapsedTime(&ms, e, f));
	SAY(cuEventRecord(e, s));
	SAY(cuEventRecord(f, s));
	SAY(cuEventSynchronize(f));
	SAY(cuEventElapsedTime(&ms, e, f));
	TELL("no earlier", ms >= 0);
	SAY(cuStreamDestroy(NULL));
	SAY(cuStreamDestroy(s));
	SAY(cuStreamDestroy(t));
	SAY(cuEventDestroy(NULL));
	SAY(cuEventDestroy(e));
	SAY(cuEventDestroy(f));
}

int main(void) {
	contexts();
	entries();
	pointers();
	modules();
	streams();
	printf("== attributes of the device\n");
	for (int a = 1; a < 148; a++) {
		if (a == 33 || a == 34 || a == 50 || a == 110) continue; // the place in the machine, and its network
		int value = 0, r = (int)cuDeviceGetAttribute(&value, (CUdevice_attribute)a, 0);
		printf("attribute %d: %d %d\n", a, r, value);
	}
	return 0;
}
