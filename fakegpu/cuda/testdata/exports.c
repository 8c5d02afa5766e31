// Questions about pools that another process opens: what can be exported, what an opened pool can do,
// memory of it, and what becomes of it when one of the two frees.
#include "say.h"

#include <sys/socket.h>
#include <sys/wait.h>

#define FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

static CUmemoryPool pool_of(int handles) {
	CUmemPoolProps props;
	CUmemoryPool pool = NULL;
	memset(&props, 0, sizeof props);
	props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	props.handleTypes = (CUmemAllocationHandleType)handles;
	props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	int r = (int)cuMemPoolCreate(&pool, &props);
	if (r != 0) printf("no pool: %d\n", r);
	return pool;
}

static long long figure(CUmemoryPool pool, int attribute) {
	unsigned long long value = 0;
	int r = (int)cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, &value);
	return r == 0 ? (long long)value : -r;
}

static void what_can_be(void) {
	CUmemoryPool standard, plain = pool_of(0), pool = pool_of(FD), opened = NULL;
	CUmemPoolPtrExportData data;
	CUdeviceptr p, q, other;
	int fd = -1, second = -1;
	printf("== what can be exported\n");
	SAY(cuDeviceGetDefaultMemPool(&standard, 0));
	SAY(cuMemPoolExportToShareableHandle(&fd, standard, FD, 0));
	SAY(cuMemPoolExportToShareableHandle(&fd, plain, FD, 0));
	SAY(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_NONE, 0));
	SAY(cuMemPoolExportToShareableHandle(&fd, pool, FD, 1));
	SAY(cuMemPoolExportToShareableHandle(NULL, pool, FD, 0));
	SAY(cuMemPoolExportToShareableHandle(&fd, pool, FD, 0));
	TELL("it is a descriptor", fd > 2);
	SAY(cuMemPoolExportToShareableHandle(&second, pool, FD, 0));
	TELL("of its own", second > 2 && second != fd);
	SAY(cuMemPoolImportFromShareableHandle(&opened, (void *)(size_t)fd, CU_MEM_HANDLE_TYPE_NONE, 0));
	SAY(cuMemPoolImportFromShareableHandle(&opened, (void *)(size_t)fd, FD, 1));
	SAY(cuMemPoolImportFromShareableHandle(NULL, (void *)(size_t)fd, FD, 0));
	SAY(cuMemPoolImportFromShareableHandle(&opened, (void *)(size_t)0, FD, 0));
	SAY(cuMemAllocFromPoolAsync(&p, 1 << 20, pool, 0));
	SAY(cuMemAllocFromPoolAsync(&q, 1 << 20, plain, 0));
	SAY(cuMemAlloc(&other, 1 << 20));
	SAY(cuMemPoolExportPointer(&data, p));
	SAY(cuMemPoolExportPointer(&data, p + 512));
	SAY(cuMemPoolExportPointer(&data, q));
	SAY(cuMemPoolExportPointer(&data, other));
	SAY(cuMemPoolExportPointer(NULL, p));
	SAY(cuMemPoolExportPointer(&data, 0));
	SAY(cuMemFreeAsync(p, 0));
	SAY(cuMemPoolExportPointer(&data, p));
	SAY(cuCtxSynchronize());
	SAY(cuMemPoolExportPointer(&data, p));
	SAY(cuMemFreeAsync(q, 0));
	SAY(cuMemFree(other));
	close(fd);
	close(second);
	SAY(cuMemPoolDestroy(plain));
	SAY(cuMemPoolDestroy(pool));
}

static void in_one_process(void) {
	CUmemoryPool pool = pool_of(FD), opened = NULL;
	CUmemPoolPtrExportData data;
	CUdeviceptr p, q = 0, again = 0;
	int fd = -1, word = 0;
	unsigned long long all = ~0ull;
	printf("== opened in the same process\n");
	SAY(cuMemPoolExportToShareableHandle(&fd, pool, FD, 0));
	SAY(cuMemPoolImportFromShareableHandle(&opened, (void *)(size_t)fd, FD, 0));
	close(fd);
	TELL("it is another pool", opened != NULL && opened != pool);
	if (opened == NULL) return;
	SAY(cuMemAllocFromPoolAsync(&q, 1 << 20, opened, 0));
	SAY(cuDeviceSetMemPool(0, opened));
	SAY(cuMemPoolSetAttribute(opened, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	TELL("its threshold", figure(opened, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
	SAY(cuMemPoolTrimTo(opened, 0));
	SAY(cuMemPoolExportToShareableHandle(&fd, opened, FD, 0));
	SAY(cuMemAllocFromPoolAsync(&p, 1 << 20, pool, 0));
	SAY(cuMemsetD32Async(p, 0x07070707, 64, 0));
	SAY(cuCtxSynchronize());
	SAY(cuMemPoolExportPointer(&data, p));
	SAY(cuMemPoolImportPointer(&q, pool, &data));
	SAY(cuMemPoolImportPointer(NULL, opened, &data));
	SAY(cuMemPoolImportPointer(&q, opened, &data));
	TELL("it is another address", q != 0 && q != p);
	SAY(cuMemPoolImportPointer(&again, opened, &data));
	TELL("a second time another one", again != 0 && again != q);
	TELL("used", figure(opened, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	TELL("reserved", figure(opened, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
	TELL("used of the exporting", figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	SAY(cuMemcpyDtoH(&word, q, 4));
	TELL("its contents", word);
	SAY(cuMemPoolExportPointer(&data, q));
	if (again != 0 && again != q) SAY(cuMemFreeAsync(again, 0));
	SAY(cuMemFreeAsync(q, 0));
	SAY(cuMemFreeAsync(q, 0));
	SAY(cuCtxSynchronize());
	TELL("used", figure(opened, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	SAY(cuMemFreeAsync(p, 0));
	SAY(cuCtxSynchronize());
	SAY(cuMemPoolImportPointer(&q, opened, &data));
	SAY(cuMemPoolDestroy(opened));
	SAY(cuMemPoolDestroy(pool));
}

static void send_fd(int to, int fd) {
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr m = {0};
	m.msg_iov = &io, m.msg_iovlen = 1, m.msg_control = room, m.msg_controllen = sizeof room;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	if (sendmsg(to, &m, 0) < 0) exit(3);
}

static int receive_fd(int from) {
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec io = {&byte, 1};
	struct msghdr m = {0};
	int fd = -1;
	m.msg_iov = &io, m.msg_iovlen = 1, m.msg_control = room, m.msg_controllen = sizeof room;
	if (recvmsg(from, &m, 0) <= 0) exit(3);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}

static void start(void) {
	CUdevice device;
	CUcontext context;
	if (cuInit(0) != 0 || cuDeviceGet(&device, 0) != 0 || cuDevicePrimaryCtxRetain(&context, device) != 0 || cuCtxSetCurrent(context) != 0) exit(2);
}

// other is the process that opens.
static int other(int with) {
	CUmemoryPool opened = NULL;
	CUmemPoolPtrExportData data;
	CUdeviceptr q = 0, late = 0;
	int word = 0, fd = receive_fd(with);
	start();
	printf("== opened in another process\n");
	SAY(cuMemPoolImportFromShareableHandle(&opened, (void *)(size_t)fd, FD, 0));
	close(fd);
	if (read(with, &data, sizeof data) != sizeof data) return 3;
	SAY(cuMemPoolImportPointer(&q, opened, &data));
	SAY(cuMemcpyDtoH(&word, q, 4));
	TELL("its contents", word);
	SAY(cuMemsetD32(q, 0x09090909, 64));
	TELL("used", figure(opened, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	if (write(with, "w", 1) != 1 || read(with, &data, sizeof data) != sizeof data) return 3;
	SAY(cuMemPoolImportPointer(&late, opened, &data)); // it has been freed
	SAY(cuMemFreeAsync(q, 0));
	SAY(cuCtxSynchronize());
	SAY(cuMemPoolDestroy(opened));
	if (write(with, "f", 1) != 1) return 3;
	return 0;
}

static void in_two(int with, pid_t child) {
	CUmemoryPool pool = pool_of(FD);
	CUmemPoolPtrExportData data;
	CUdeviceptr p, again;
	int fd = -1, word = 0, status = 0;
	char byte;
	cuMemPoolExportToShareableHandle(&fd, pool, FD, 0);
	cuMemAllocFromPoolAsync(&p, 1 << 20, pool, 0);
	cuMemsetD32Async(p, 0x05050505, 64, 0);
	cuCtxSynchronize();
	cuMemPoolExportPointer(&data, p);
	send_fd(with, fd);
	if (write(with, &data, sizeof data) != sizeof data || read(with, &byte, 1) != 1) exit(3);
	SAY(cuMemcpyDtoH(&word, p, 4));
	TELL("what the other has written", word);
	SAY(cuMemFreeAsync(p, 0));
	SAY(cuCtxSynchronize());
	TELL("used when the exporting has freed", figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	SAY(cuMemAllocFromPoolAsync(&again, 1 << 20, pool, 0));
	TELL("the memory is the same", again == p);
	SAY(cuMemFreeAsync(again, 0));
	SAY(cuCtxSynchronize());
	if (write(with, &data, sizeof data) != sizeof data || read(with, &byte, 1) != 1) exit(3);
	TELL("used when the other has freed", figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	waitpid(child, &status, 0);
	TELL("the other has ended with", WEXITSTATUS(status));
	SAY(cuMemPoolDestroy(pool));
}

int main(void) {
	int ends[2];
	setbuf(stdout, NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 3;
	pid_t child = fork(); // before there is a context
	if (child == 0) return other(ends[1]);
	start();
	what_can_be();
	in_one_process();
	in_two(ends[0], child);
	return 0;
}
