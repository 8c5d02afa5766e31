// PyTorch's allocator for Go: c10::cuda::CUDACachingAllocator behind one C function.
//
// The allocator is one a process, and remembers. So that a program can begin with a new one,
// what the libraries have in their writable memory and on the heap (arena.h) is saved when
// they have been loaded, and put back. What a thread has of its own is not: that is the
// thread's current device, and texts, which are malloc's.
#include "adaptor.h"
#include "arena.h"
#include "release.h"

#include <c10/cuda/CUDAStream.h>
#include <c10/util/Logging.h>
#include <cuda_runtime_api.h>

#include <link.h>

#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace {

namespace native = c10::cuda::CUDACachingAllocator;
using c10::CachingDeviceAllocator::DeviceStats;
using anytorch::allocator;
using anytorch::MempoolId_t;
using anytorch::TraceEntry;

gaugeblock_torch_callbacks callbacks;
std::vector<gaugeblock_torch_entry> entries;
std::vector<uint64_t> words;
gaugeblock_torch *current;

// What gives back memory of the cache; it is what a tensor holds on to.
c10::DeleterFnPtr cached;
// Memory that was allocated in another way, with what gives it back.
std::unordered_map<void *, c10::DeleterFnPtr> uncached;
std::unordered_map<uint64_t, std::shared_ptr<native::AllocatorState>> states;
std::unordered_map<uint64_t, std::shared_ptr<void>> opened;
uint64_t numbers;

constexpr int maxDevices = 16; // of a fake machine

// What is put back.
struct Part {
	char *at, *content;
	size_t bytes;
};
struct Pristine {
	Part parts[32];
	int count;
};
Pristine *pristine; // malloc's

int savePart(dl_phdr_info *info, size_t, void *) {
	const char *slash = std::strrchr(info->dlpi_name, '/');
	const std::string name = slash ? slash + 1 : info->dlpi_name;
	if (name != "libc10.so" && name != "libc10_cuda.so" && name != "libgaugeblock_torch_adaptor.so") return 0;
	uintptr_t relro = 0, relro_end = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const auto &p = info->dlpi_phdr[i];
		if (p.p_type != PT_GNU_RELRO) continue;
		relro = info->dlpi_addr + p.p_vaddr;
		relro_end = (relro + p.p_memsz + 4095) / 4096 * 4096;
		relro = relro / 4096 * 4096;
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const auto &p = info->dlpi_phdr[i];
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_W)) continue;
		uintptr_t from = info->dlpi_addr + p.p_vaddr, to = from + p.p_memsz;
		if (relro <= from && from < relro_end) from = relro_end < to ? relro_end : to;
		if (from >= to || pristine->count == 32) continue;
		Part &part = pristine->parts[pristine->count++];
		part = {(char *)from, (char *)malloc(to - from), to - from};
		std::memcpy(part.content, part.at, part.bytes);
	}
	return 0;
}

class AskGo : public c10::FreeMemoryCallback {
public:
	bool Execute() override { return callbacks.need_memory() != 0; }
};

MempoolId_t pool(const uint64_t *w) { return {w[0], w[1]}; }

void say(char *to, uint64_t *size, const std::string &text) {
	*size = std::min<size_t>(text.size(), TORCH_TEXT);
	std::memcpy(to, text.data(), *size);
}

std::vector<std::string> lines(const gaugeblock_torch *x) {
	std::vector<std::string> list;
	std::string text(x->text, x->text_bytes);
	for (size_t at = 0; at < text.size();) {
		size_t end = text.find('\n', at);
		if (end == std::string::npos) end = text.size();
		list.push_back(text.substr(at, end - at));
		at = end + 1;
	}
	return list;
}

void trace(const TraceEntry &e) {
	entries.push_back({(uint64_t)e.action_, (uint64_t)e.device_, e.addr_, e.size_, (uint64_t)e.stream_,
		{e.mempool_.first, e.mempool_.second}});
}

void putBack() {
	Pristine *p = pristine; // it is in what is put back
	gaugeblock_arena_reset();
	for (int i = 0; i < p->count; i++) std::memcpy(p->parts[i].at, p->parts[i].content, p->parts[i].bytes);
}

void start(gaugeblock_torch *x) {
	anytorch::start(std::string(x->text, x->text_bytes), (int)x->given[0]);
	cached = allocator()->raw_deleter();
	allocator()->attachAllocatorTraceTracker(trace);
	allocator()->attachOutOfMemoryObserver([](int64_t device, size_t size, size_t total, size_t available) {
		current->oom_calls++;
		current->oom_device = (uint64_t)device;
		current->oom_size = size;
		current->oom_total = total;
		current->oom_free = available;
	});
}

struct Suspended {
	Suspended() { gaugeblock_arena_suspend(); }
	~Suspended() { gaugeblock_arena_resume(); }
};

c10::cuda::CUDAStream streamOf(uint64_t device, uint64_t stream) {
	auto index = (c10::DeviceIndex)device;
	return stream == 0 ? c10::cuda::CUDAStream(c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::kCUDA, index)))
		: c10::cuda::getStreamFromExternal((cudaStream_t)stream, index);
}

// A thread has a current stream for each device, in memory that must outlive what is put
// back. In a new program it is the default stream.
uint64_t program; // counts them; it is kept
thread_local uint64_t prepared;
thread_local int currentDevice; // whose current stream may be another one

void prepareThread(uint64_t now) {
	if (prepared == now) return;
	prepared = now;
	(void)cudaSetDevice(0);
	Suspended s;
	for (int i = 0; i < maxDevices; i++) c10::cuda::setCurrentCUDAStream(streamOf((uint64_t)i, 0));
	currentDevice = 0;
	anytorch::makeRoomForMetadata();
}

// makeCurrent makes a stream of a device the thread's current one, and of all other devices the default stream.
void makeCurrent(int device, uint64_t stream) {
	if (currentDevice != device) c10::cuda::setCurrentCUDAStream(streamOf((uint64_t)currentDevice, 0));
	c10::cuda::setCurrentCUDAStream(streamOf((uint64_t)device, stream));
	currentDevice = device;
}

void setDevice(uint64_t device) { (void)cudaSetDevice((int)device); }

constexpr uint64_t exabyte = 1152921504606846976ull;

// allocate does what CUDAAllocator::allocate does for tensors, for a given stream.
void *allocate(const uint64_t *given) {
	setDevice(given[0]);
	makeCurrent((int)given[0], given[1]);
	if (allocator()->isEnabled() && given[2] < exabyte) {
		return allocator()->raw_alloc_with_stream(given[2], (cudaStream_t)given[1]);
	}
	c10::DataPtr data = allocator()->allocate(given[2]);
	auto deleter = data.get_deleter();
	void *p = data.release_context();
	if (p != nullptr) uncached[p] = deleter;
	return p;
}

void allocateAt(const uint64_t *given) {
	setDevice(given[0]);
	makeCurrent((int)given[0], given[1]);
	anytorch::mallocAt(given[2], (void *)given[3]);
}

c10::DataPtr dataPtr(void *p) {
	return c10::DataPtr(p, p, cached, c10::Device(c10::kCUDA, 0));
}

void giveBack(void *p) {
	auto found = uncached.find(p);
	if (found == uncached.end()) {
		cached(p);
		return;
	}
	auto deleter = found->second;
	uncached.erase(found);
	deleter(p);
}

void recordStream(const uint64_t *given) {
	void *p = (void *)given[0];
	if (uncached.count(p)) return;
	c10::DataPtr data = dataPtr(p);
	auto stream = streamOf(given[1], given[2]);
	try {
		allocator()->recordStream(data, stream);
	} catch (...) {
		data.release_context();
		throw;
	}
	data.release_context();
}

void snapshot(gaugeblock_torch *x) {
	auto s = anytorch::snapshot(pool(x->given), false);
	words.push_back(s.segments.size());
	for (const auto &g : s.segments) {
		for (uint64_t w : {(uint64_t)g.device, (uint64_t)g.address, (uint64_t)g.total_size, (uint64_t)g.requested_size,
				(uint64_t)g.allocated_size, (uint64_t)g.active_size, (uint64_t)g.stream, (uint64_t)g.is_large,
				(uint64_t)g.is_expandable, (uint64_t)g.owner_private_pool_id.first, (uint64_t)g.owner_private_pool_id.second,
				(uint64_t)g.blocks.size()}) {
			words.push_back(w);
		}
		for (const auto &b : g.blocks) {
			words.push_back(b.size);
			words.push_back(b.requested_size);
			words.push_back(b.allocated ? 1 : b.active ? 2 : 0);
		}
	}
}

void restore(gaugeblock_torch *x) {
	auto found = states.find(x->given[1]);
	auto delta = allocator()->setCheckpointPoolState((c10::DeviceIndex)x->given[0], found->second);
	words.push_back(delta.ptrs_freed.size());
	for (void *p : delta.ptrs_freed) words.push_back((uint64_t)p);
	words.push_back(delta.dataptrs_allocd.size());
	for (auto &data : delta.dataptrs_allocd) words.push_back((uint64_t)data.release_context());
}

void history(gaugeblock_torch *x) {
	anytorch::recordHistory(x->given[0] != 0, nullptr, x->given[1], (anytorch::RecordContext)x->given[3], x->given[2] != 0, lines(x));
}

void ring(gaugeblock_torch *x) {
	auto s = anytorch::snapshot({0, 0}, true);
	entries.clear(); // of the snapshot itself
	for (const auto &e : s.device_traces.at(x->given[0])) trace(e);
}

void createPool(const uint64_t *g) {
	auto device = (c10::DeviceIndex)g[0];
	allocator()->createOrIncrefPool(device, pool(g + 1));
	if (g[3]) anytorch::setUseOnOOM(device, pool(g + 1), true);
	if (g[4]) anytorch::setNoSplit(device, pool(g + 1));
}

void expandableSizes([[maybe_unused]] c10::DeviceIndex device) {
#if TORCH_VERSION_MINOR >= 10
	for (const auto &s : allocator()->getExpandableSegmentSizes(device)) {
		words.insert(words.end(), {(uint64_t)s.stream, (uint64_t)s.is_small_pool, (uint64_t)s.total_size});
	}
#else
	anytorch::lacks("list of expandable segments");
#endif
}

void setMetadata([[maybe_unused]] gaugeblock_torch *x) {
#if TORCH_VERSION_MINOR >= 10
	Suspended s;
	allocator()->setUserMetadata(std::string(x->text, x->text_bytes));
#else
	anytorch::lacks("metadata");
#endif
}

void getMetadata([[maybe_unused]] gaugeblock_torch *x) {
#if TORCH_VERSION_MINOR >= 10
	say(x->text, &x->text_bytes, allocator()->getUserMetadata());
#else
	anytorch::lacks("metadata");
#endif
}

void perform(int operation, gaugeblock_torch *x) {
	const uint64_t *g = x->given;
	const auto device = (c10::DeviceIndex)g[0];
	std::string text;
	switch (operation) {
	case TORCH_RESET: return start(x);
	case TORCH_MALLOC: x->address = (uint64_t)allocate(g); return;
	case TORCH_MALLOC_AT: return allocateAt(g);
	case TORCH_FREE: return giveBack((void *)g[0]);
	case TORCH_RECORD_STREAM: return recordStream(g);
	case TORCH_EMPTY_CACHE: return allocator()->emptyCache(pool(g));
	case TORCH_SET_FRACTION: return allocator()->setMemoryFraction(x->fraction, device);
	case TORCH_GET_FRACTION: x->fraction = allocator()->getMemoryFraction(device); return;
	case TORCH_CONFIGURE: return anytorch::setAllocatorSettings(std::string(x->text, x->text_bytes));
	case TORCH_RESET_PEAK: return allocator()->resetPeakStats(device);
	case TORCH_RESET_SUMS: return allocator()->resetAccumulatedStats(device);
	case TORCH_ENABLE: return allocator()->enable(g[0] != 0);
	case TORCH_STATS: return;
	case TORCH_SNAPSHOT: return snapshot(x);
	case TORCH_BASE: {
		size_t bytes = 0;
		x->address = (uint64_t)allocator()->getBaseAllocation((void *)g[0], &bytes);
		words.push_back(bytes);
		return;
	}
	case TORCH_CACHE_INFO: {
		size_t largest = g[1];
		allocator()->cacheInfo(device, &largest);
		x->address = largest;
		return;
	}
	case TORCH_POOL_CREATE: return createPool(g);
	case TORCH_POOL_BEGIN: {
		const uint64_t filter = g[3];
		return allocator()->beginAllocateToPool(device, pool(g + 1),
			[filter](cudaStream_t s) { return callbacks.filter(filter, (uint64_t)s) != 0; });
	}
	case TORCH_POOL_END: return allocator()->endAllocateToPool(device, pool(g + 1));
	case TORCH_POOL_RELEASE: return allocator()->releasePool(device, pool(g + 1));
	case TORCH_POOL_USES: x->address = (uint64_t)allocator()->getPoolUseCount(device, pool(g + 1)); return;
	case TORCH_POOL_ON_OOM: return anytorch::setUseOnOOM(device, pool(g + 1), g[3] != 0);
	case TORCH_POOL_NO_SPLIT: return anytorch::setNoSplit(device, pool(g + 1));
	case TORCH_CHECKPOINT: {
		auto state = allocator()->getCheckpointState(device, pool(g + 1));
		states[x->address = ++numbers] = std::move(state);
		return;
	}
	case TORCH_RESTORE: return restore(x);
	case TORCH_CHECK_LIVE: {
		std::unordered_set<void *> live;
		for (uint64_t i = 0; i < g[3]; i++) live.insert((void *)x->words[i]);
		x->address = allocator()->checkPoolLiveAllocations(device, pool(g + 1), live);
		return;
	}
	case TORCH_SIZES: return expandableSizes(device);
	case TORCH_MARK_CAPTURE: return anytorch::markCapture(device, g[1] != 0);
	case TORCH_PEER: return allocator()->enablePeerAccess(device, (c10::DeviceIndex)g[1]);
	case TORCH_SHARE: {
		auto handle = allocator()->shareIpcHandle((void *)g[0]);
		x->address = (uint64_t)handle.offset;
		say(x->text, &x->text_bytes, handle.handle);
		return;
	}
	case TORCH_OPEN: {
		setDevice(g[0]);
		auto p = allocator()->getIpcDevPtr(std::string(x->text, x->text_bytes));
		x->address = (uint64_t)p.get();
		words.push_back(++numbers);
		opened[numbers] = std::move(p);
		return;
	}
	case TORCH_CLOSE: opened.erase(g[0]); return;
	case TORCH_HISTORY: return history(x);
	case TORCH_HISTORY_ON: x->address = allocator()->isHistoryEnabled(); return;
	case TORCH_RING: return ring(x);
	case TORCH_ANNOTATE: {
		std::vector<std::pair<std::string, std::string>> fields;
		auto all = lines(x);
		for (size_t i = 0; i + 1 < all.size(); i += 2) fields.emplace_back(all[i], all[i + 1]);
		return allocator()->recordAnnotation(fields);
	}
	case TORCH_PUSH_CONTEXT: {
		Suspended s;
		text.assign(x->text, x->text_bytes);
		return allocator()->pushCompileContext(text);
	}
	case TORCH_POP_CONTEXT: return allocator()->popCompileContext();
	case TORCH_SET_METADATA: return setMetadata(x);
	case TORCH_GET_METADATA: return getMetadata(x);
	}
	throw std::runtime_error("there is no such operation");
}

// figures are in the order of the fields of spec.DeviceStats.
void figures(int device, int64_t *to) {
	DeviceStats s = allocator()->getDeviceStats((c10::DeviceIndex)device);
	for (const auto *array : {&s.allocation, &s.segment, &s.active, &s.inactive_split, &s.allocated_bytes, &s.reserved_bytes,
			&s.active_bytes, &s.inactive_split_bytes, &s.requested_bytes}) {
		for (const auto &stat : *array) {
			*to++ = stat.current;
			*to++ = stat.peak;
			*to++ = stat.allocated;
			*to++ = stat.freed;
		}
	}
	for (int64_t n : {s.num_alloc_retries, s.num_ooms, s.num_sync_all_streams, s.num_device_alloc, s.num_device_free}) *to++ = n;
	for (const auto *stat : {&s.oversize_allocations, &s.oversize_segments}) {
		*to++ = stat->current;
		*to++ = stat->peak;
		*to++ = stat->allocated;
		*to++ = stat->freed;
	}
	*to++ = s.max_split_size;
}

// A callback that frees memory calls again: what is traced then belongs to the first call.
int depth;

void begin(gaugeblock_torch *x) {
	if (depth++ == 0) {
		entries.clear();
		current = x;
	}
	words.clear();
	x->kind = TORCH_OK;
	x->code = 0;
	x->oom_calls = 0;
	x->message_bytes = 0;
}

void answer(gaugeblock_torch *x) {
	x->entries = entries.data();
	x->num_entries = --depth == 0 ? entries.size() : 0;
	x->words = words.data();
	x->num_words = words.size();
	if (x->figures_of >= 0) figures(x->figures_of, x->figures);
}

void performCatching(int operation, gaugeblock_torch *x) {
	auto failed = [x](int kind, int code, const std::string &text) {
		x->kind = kind;
		x->code = code;
		say(x->message, &x->message_bytes, text);
	};
	try {
		perform(operation, x);
	} catch (const c10::OutOfMemoryError &e) {
		failed(TORCH_OUT_OF_MEMORY, 0, e.what_without_backtrace());
	} catch (const c10::AcceleratorError &e) {
		failed(TORCH_CUDA, e.get_error_code(), e.what_without_backtrace());
	} catch (const c10::Error &e) {
		failed(TORCH_ERROR, 0, e.what_without_backtrace());
	} catch (const std::exception &e) {
		failed(TORCH_OTHER, 0, e.what());
	}
}

} // namespace

namespace c10 {
REGISTER_FREE_MEMORY_CALLBACK("gaugeblock", AskGo)
}

extern "C" const char *gaugeblock_torch_start_(const gaugeblock_torch_callbacks *c) {
	callbacks = *c;
	gaugeblock_arena_enter();
	void *probe = ::operator new(1);
	const bool ours = gaugeblock_arena_has(probe);
	::operator delete(probe);
	gaugeblock_arena_leave();
	if (!ours) return "another operator new was there first";
	// Nobody reads where in PyTorch an error arose, and finding it out takes long.
	c10::SetStackTraceFetcher([]() -> ::c10::Backtrace { return nullptr; });
	// However many devices a program has: PyTorch asks once, and keeps a thread's streams in
	// room for that number. There are as many as can be while it asks (see prepareThread).
	prepareThread(++program);
	pristine = (Pristine *)calloc(1, sizeof(Pristine));
	dl_iterate_phdr(savePart, nullptr);
	gaugeblock_arena_mark();
	return nullptr;
}

extern "C" void gaugeblock_torch_call_(int operation, gaugeblock_torch *x) {
	if (operation == TORCH_RESET) {
		const uint64_t next = program + 1;
		putBack();
		program = next;
	}
	prepareThread(program);
	gaugeblock_arena_enter();
	if (operation != TORCH_RESET && depth == 0) makeCurrent(x->current_device, x->current_stream);
	if (operation == TORCH_WAITS) answer(x);
	else begin(x);
	if (operation != TORCH_WAITS && operation != TORCH_GOES_ON) {
		performCatching(operation, x);
		(void)cudaGetLastError();
		answer(x);
	}
	gaugeblock_arena_leave();
}
