// Questions about how a pool of the driver grows, what it gives back and when, what becomes of its memory
// when it is destroyed, and about directions of copies.
#include "say.h"

static cudaMemPool_t pool_of(unsigned long long threshold) {
	struct cudaMemPoolProps props;
	cudaMemPool_t pool = NULL;
	memset(&props, 0, sizeof props);
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	if (cudaMemPoolCreate(&pool, &props) != cudaSuccess) exit(2);
	cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
	return pool;
}

static unsigned long long figure(cudaMemPool_t pool, enum cudaMemPoolAttr attribute) {
	unsigned long long value = 0;
	return cudaMemPoolGetAttribute(pool, attribute, &value) == cudaSuccess ? value : ~0ull;
}

static void figures(const char *when, cudaMemPool_t pool) {
	printf("%-44s used %10llu most %10llu reserved %10llu most %10llu\n", when, figure(pool, cudaMemPoolAttrUsedMemCurrent),
		figure(pool, cudaMemPoolAttrUsedMemHigh), figure(pool, cudaMemPoolAttrReservedMemCurrent), figure(pool, cudaMemPoolAttrReservedMemHigh));
}

static long long free_now(void) {
	size_t there = 0, total = 0;
	cudaMemGetInfo(&there, &total);
	return (long long)there;
}

static void *take(cudaMemPool_t pool, size_t bytes, cudaStream_t s) {
	void *p = NULL;
	int r = (int)cudaMallocFromPoolAsync(&p, bytes, pool, s);
	if (r != 0) printf("%zu bytes: %d\n", bytes, r);
	(void)cudaGetLastError();
	return p;
}

static void grows(cudaStream_t s) {
	static const size_t sizes[] = {1, 511, 512, 513, 4096, 65535, 1 << 20, (1 << 20) + 1, 2 << 20, 31 << 20, 32 << 20, (32 << 20) + 1, 100 << 20, 3 << 20, 60 << 20, 1};
	enum { N = sizeof sizes / sizeof *sizes };
	cudaMemPool_t pool = pool_of(~0ull);
	void *at[N];
	char when[64];
	printf("== how a pool grows\n");
	for (int i = 0; i < N; i++) {
		at[i] = take(pool, sizes[i], s);
		snprintf(when, sizeof when, "with %zu bytes more", sizes[i]);
		figures(when, pool);
	}
	for (int i = 0; i < N; i += 2) cudaFreeAsync(at[i], s);
	figures("every second one freed", pool);
	for (int i = 0; i < N; i += 2) {
		void *again = take(pool, sizes[i], s);
		int which = -1;
		for (int k = 0; k < N; k += 2) if (again == at[k]) which = k;
		printf("%zu bytes again: the place of number %d\n", sizes[i], which);
		cudaFreeAsync(again, s);
	}
	for (int i = 1; i < N; i += 2) cudaFreeAsync(at[i], s);
	figures("all freed", pool);
	SAY(cudaStreamSynchronize(s));
	figures("the stream has been waited for", pool);
	void *large = take(pool, 90 << 20, s);
	figures("90 MiB of what is there", pool);
	cudaFreeAsync(large, s);
	SAY(cudaMemPoolTrimTo(pool, 300 << 20));
	figures("trimmed to 300 MiB", pool);
	SAY(cudaMemPoolTrimTo(pool, 40 << 20));
	figures("trimmed to 40 MiB", pool);
	SAY(cudaStreamSynchronize(s));
	SAY(cudaMemPoolTrimTo(pool, 33 << 20));
	figures("trimmed to 33 MiB", pool);
	SAY(cudaMemPoolTrimTo(pool, 1));
	figures("trimmed to 1 byte", pool);
	SAY(cudaMemPoolTrimTo(pool, 0));
	figures("trimmed to nothing", pool);
	SAY(cudaMemPoolDestroy(pool));
}

enum { BY_STREAM, BY_DEVICE, BY_EVENT, BY_QUERY, BY_EVENT_QUERY, BY_REQUEST, BY_FREE, BY_COPY, WAYS };
static const char *const ways[] = {"the stream is waited for", "the device is waited for", "an event is waited for", "the stream is asked", "an event is asked", "a request", "a free", "a copy to the host"};

static void gives_back(cudaStream_t s) {
	static const unsigned long long thresholds[] = {0, 1, 40 << 20, 64 << 20, ~0ull};
	printf("== when a pool gives back\n");
	for (unsigned t = 0; t < sizeof thresholds / sizeof *thresholds; t++) {
		for (int way = 0; way < WAYS; way++) {
			cudaMemPool_t pool = pool_of(thresholds[t]);
			cudaEvent_t e;
			char when[64], byte;
			void *p = take(pool, 32 << 20, s), *q = take(pool, 32 << 20, s), *r = take(pool, 32 << 20, s), *x = take(pool, 1 << 20, s);
			cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
			cudaFreeAsync(p, s), cudaFreeAsync(q, s), cudaFreeAsync(r, s);
			cudaEventRecord(e, s);
			usleep(20000);
			switch (way) {
			case BY_STREAM: cudaStreamSynchronize(s); break;
			case BY_DEVICE: cudaDeviceSynchronize(); break;
			case BY_EVENT: cudaEventSynchronize(e); break;
			case BY_QUERY: cudaStreamQuery(s); break;
			case BY_EVENT_QUERY: cudaEventQuery(e); break;
			case BY_REQUEST: cudaFreeAsync(take(pool, 1 << 20, s), s); break;
			case BY_FREE: cudaFreeAsync(x, s), x = NULL; break;
			case BY_COPY: cudaMemcpy(&byte, x, 1, cudaMemcpyDeviceToHost); break;
			}
			snprintf(when, sizeof when, "threshold %lld, %s", (long long)thresholds[t], ways[way]);
			figures(when, pool);
			if (x) cudaFreeAsync(x, s);
			cudaStreamSynchronize(s);
			figures("and all freed, and waited for", pool);
			cudaEventDestroy(e);
			cudaMemPoolDestroy(pool);
		}
	}
}

static void destroyed(cudaStream_t s) {
	cudaMemPool_t pool;
	void *p, *q;
	char byte = 0;
	printf("== a pool that is destroyed\n");
	cudaDeviceSynchronize();
	long long before = free_now();
	pool = pool_of(~0ull), p = take(pool, 64 << 20, s), q = take(pool, 64 << 20, s);
	cudaMemsetAsync(p, 5, 64 << 20, s);
	TELL("taken of the device, with two pieces", before - free_now());
	SAY(cudaMemPoolDestroy(pool));
	TELL("taken, the pool destroyed", before - free_now());
	SAY(cudaStreamSynchronize(s));
	TELL("taken, the stream waited for", before - free_now());
	SAY(cudaMemcpy(&byte, p, 1, cudaMemcpyDeviceToHost));
	TELL("its memory holds", byte);
	SAY(cudaFreeAsync(p, s));
	SAY(cudaStreamSynchronize(s));
	TELL("taken, one piece freed", before - free_now());
	SAY(cudaFree(q));
	SAY(cudaDeviceSynchronize());
	TELL("taken, both freed", before - free_now());
	SAY(cudaMalloc(&p, 1 << 20));
	SAY(cudaFree(p));
	TELL("taken, after another allocation", before - free_now());

	pool = pool_of(~0ull), p = take(pool, 64 << 20, s);
	hold(s, 0);
	SAY(cudaFreeAsync(p, s));
	SAY(cudaMemPoolDestroy(pool));
	TELL("taken, the pool destroyed with a free pending", before - free_now());
	let_go(0);
	SAY(cudaStreamSynchronize(s));
	TELL("taken, the stream waited for", before - free_now());
	SAY(cudaDeviceSynchronize());
	TELL("taken, the device waited for", before - free_now());
	pool = pool_of(~0ull), p = take(pool, 64 << 20, s);
	SAY(cudaFreeAsync(p, s));
	SAY(cudaStreamSynchronize(s));
	TELL("taken, all freed and kept", before - free_now());
	SAY(cudaMemPoolDestroy(pool));
	TELL("taken, the pool destroyed", before - free_now());
}

static void directions(cudaStream_t s) {
	static const int kinds[] = {-1, 0, 1, 2, 3, 4, 5, 100};
	static const char *const names[] = {"pageable", "pinned", "managed", "device", "pool"};
	void *to[5], *from[5];
	printf("== directions of copies\n");
	to[0] = malloc(4096), from[0] = calloc(1, 4096);
	cudaMallocHost(&to[1], 4096), cudaMallocHost(&from[1], 4096);
	cudaMallocManaged(&to[2], 4096, cudaMemAttachGlobal), cudaMallocManaged(&from[2], 4096, cudaMemAttachGlobal);
	cudaMalloc(&to[3], 4096), cudaMalloc(&from[3], 4096);
	cudaMallocAsync(&to[4], 4096, s), cudaMallocAsync(&from[4], 4096, s);
	cudaDeviceSynchronize();
	for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		for (int d = 0; d < 5; d++) {
			printf("kind %3d, to %-8s from", kinds[k], names[d]);
			for (int f = 0; f < 5; f++) {
				printf(" %s %d", names[f], (int)cudaMemcpyAsync(to[d], from[f], 16, (enum cudaMemcpyKind)kinds[k], s));
				(void)cudaGetLastError();
			}
			printf("\n");
			fflush(stdout);
		}
	}
	SAY(cudaDeviceSynchronize());
	SAY(cudaMemcpy(to[3], NULL, 16, cudaMemcpyHostToDevice));
	SAY(cudaMemcpy(NULL, from[3], 16, cudaMemcpyDeviceToHost));
	SAY(cudaMemcpy(to[3], NULL, 0, cudaMemcpyHostToDevice));
	SAY(cudaMemcpy(to[3], from[0], 0, (enum cudaMemcpyKind)9));
}

int main(void) {
	cudaStream_t s;
	setbuf(stdout, NULL);
	if (cudaSetDevice(0) != cudaSuccess || cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) != cudaSuccess) return 2;
	grows(s);
	gives_back(s);
	destroyed(s);
	directions(s);
	return 0;
}
