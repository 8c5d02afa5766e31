// Memory of a pool is opened, and the driver call that is named fails the first time. What the
// opening has taken by then goes back: after all is freed the device has as much as before.
#include "gaugeblock_cuda.h"
#include "say.h"

#define FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

int main(int count, char **names) {
	CUmemPoolProps props;
	CUmemoryPool pool = NULL, opened = NULL;
	CUmemPoolPtrExportData data;
	CUdeviceptr p = 0, q = 0;
	size_t before = 0, after = 0, total = 0;
	CUcontext context = NULL;
	int fd = -1;
	(void)count;
	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, 0);
	cuCtxSetCurrent(context);
	cuMemGetInfo(&before, &total);
	memset(&props, 0, sizeof props);
	props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	props.handleTypes = (CUmemAllocationHandleType)FD;
	props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	SAY(cuMemPoolCreate(&pool, &props));
	SAY(cuMemPoolExportToShareableHandle(&fd, pool, FD, 0));
	SAY(cuMemPoolImportFromShareableHandle(&opened, (void *)(size_t)fd, FD, 0));
	SAY(cuMemAllocFromPoolAsync(&p, 40 << 20, pool, 0)); // of two steps
	SAY(cuMemPoolExportPointer(&data, p));
	gaugeblock_fault(names[1], 2, "out_of_memory");
	q = 7;
	SAY(cuMemPoolImportPointer(&q, opened, &data));
	printf("then the pointer is %llu\n", (unsigned long long)q);
	SAY(cuMemPoolImportPointer(&q, opened, &data));
	SAY(cuMemFreeAsync(q, 0));
	SAY(cuMemFreeAsync(p, 0));
	SAY(cuCtxSynchronize());
	SAY(cuMemPoolDestroy(opened));
	SAY(cuMemPoolDestroy(pool));
	SAY(cuCtxSynchronize());
	cuMemGetInfo(&after, &total);
	printf("%lld bytes are missing\n", (long long)before - (long long)after);
	return 0;
}
