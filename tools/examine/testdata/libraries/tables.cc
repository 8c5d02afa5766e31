// A cache by exact size whose tables have fixed sizes at first, and grow: what is allocated, by address; the streams;
// and, with record_stream, the events that are not complete. FAULT in the environment plants a fault.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "fault.h"
#include "on_device.h"

struct Block {
	char *at = nullptr;
	size_t bytes = 0;
	int device = 0;
	size_t stream = 0; // its place in streams
	std::vector<std::pair<int, cudaStream_t>> others;
};
struct Waiting {
	Block block;
	std::vector<cudaEvent_t> events;
};
static std::vector<Block *> table(64), unused;
static size_t filled;
static std::vector<std::pair<int, cudaStream_t>> streams;
static std::vector<Waiting> waiting;

static Block **place(std::vector<Block *> &in, char *at) {
	size_t i = size_t(at) / 512 % in.size();
	for (size_t n = 0; n < in.size(); n++, i = (i + 1) % in.size()) {
		if (in[i] == nullptr || in[i]->at == at) return &in[i];
	}
	return &in[i]; // the table is full: its first is overwritten
}

static void enter(Block *b) {
	if (++filled > table.size() / 2 && !(fault("does_not_grow") && table.size() == 256)) {
		std::vector<Block *> larger(table.size() * 2);
		for (Block *e : table) {
			if (e != nullptr) *place(larger, e->at) = e;
		}
		table.swap(larger);
	}
	*place(table, b->at) = b;
}

// leave takes it from the table: what is behind it comes forward, lest it be not found.
static Block *leave(char *at) {
	Block **p = place(table, at), *b = *p;
	filled--;
	*p = nullptr;
	if (fault("leaves_a_gap")) return b;
	for (size_t i = size_t(p - table.data()) + 1;; i++) {
		Block *next = table[i % table.size()];
		if (next == nullptr) return b;
		table[i % table.size()] = nullptr;
		*place(table, next->at) = next;
	}
}

static size_t number(int device, cudaStream_t stream) {
	for (size_t i = 0; i < streams.size(); i++) {
		if (streams[i] == std::make_pair(device, stream)) return i;
	}
	if (fault("has_8_streams") && streams.size() == 8) return 7;
	if (fault("has_16_streams") && streams.size() == 16) return 15;
	streams.emplace_back(device, stream);
	return streams.size() - 1;
}

static void look(bool wait) {
	for (size_t i = 0; i < waiting.size();) {
		bool over = true;
		for (cudaEvent_t e : waiting[i].events) over = (wait ? cudaEventSynchronize(e) : cudaEventQuery(e)) == cudaSuccess && over;
		if (!over) {
			i++;
			continue;
		}
		for (cudaEvent_t e : waiting[i].events) cudaEventDestroy(e);
		unused.push_back(new Block(waiting[i].block));
		waiting.erase(waiting.begin() + long(i));
	}
	cudaGetLastError();
}

static void release(int device) {
	look(true);
	std::vector<Block *> kept;
	for (Block *b : unused) {
		if (device >= 0 && b->device != device) {
			kept.push_back(b);
			continue;
		}
		OnDevice on(b->device);
		cudaFree(b->at);
		delete b;
	}
	unused.swap(kept);
}

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	OnDevice on(device);
	look(false);
	const size_t size = (size_t(bytes) + 511) / 512 * 512, of = number(device, stream);
	Block *b = nullptr;
	for (size_t i = 0; i < unused.size() && b == nullptr; i++) {
		if (unused[i]->bytes != size || unused[i]->device != device || unused[i]->stream != of) continue;
		b = unused[i];
		unused.erase(unused.begin() + long(i));
	}
	if (b == nullptr) {
		char *p = nullptr;
		if (cudaMalloc((void **)&p, size) != cudaSuccess) {
			release(device);
			if (cudaMalloc((void **)&p, size) != cudaSuccess) p = nullptr;
			cudaGetLastError();
		}
		if (p == nullptr) return nullptr;
		b = new Block{p, size, device, of, {}};
	}
	enter(b);
	return b->at;
}

extern "C" void my_free(void *ptr, ssize_t, int, cudaStream_t) {
	Block *b = leave((char *)ptr);
	if (b == nullptr) return;
	Waiting w;
	for (auto [device, stream] : b->others) {
		OnDevice on(device);
		w.events.push_back(nullptr);
		cudaEventCreateWithFlags(&w.events.back(), cudaEventDisableTiming);
		if (cudaEventRecord(w.events.back(), stream) != cudaSuccess && !fault("believes_records")) cudaStreamSynchronize(stream);
		cudaGetLastError();
	}
	b->others.clear();
	if (w.events.empty() || (fault("has_64_events") && waiting.size() == 64)) return unused.push_back(b);
	w.block = *b;
	delete b;
	waiting.push_back(w);
}

#ifdef RECORDS
extern "C" void my_record_stream(void *ptr, cudaStream_t stream) {
	int device = 0;
	cudaGetDevice(&device);
	Block *b = *place(table, (char *)ptr);
	if (b != nullptr) b->others.emplace_back(device, stream);
}
#endif

extern "C" void my_empty_cache() { release(-1); }
