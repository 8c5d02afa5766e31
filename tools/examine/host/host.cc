// The process in which a library that is examined runs. It waits for orders, and for each
// program it forks a process that loads the library, so that every program begins with a
// new allocator. What the library calls of CUDA goes to the examining process, which has
// the fake GPU, and the answer comes back.
//
//	host FAKE LIBRARY ROLE=SYMBOL...
//
// Built as a library it is part of another process (host.py), which names the functions itself: then
// LIBRARY is "-".
//
// FAKE is the directory of the libraries of the fake GPU. Orders come in at descriptor 3,
// answers to calls at 4; what is called and answered goes out at 5.
#include "gaugeblock_cuda_table.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int orders = 3, answers = 4, out = 5;

// What goes either way, and as many bytes behind it as extra says.
struct Message {
	int32_t type;   // one of the two lists below
	int32_t number; // of a call: the operation; of an order: the thread; of an answer: 0, or 1 for an exception
	uint64_t words[8];
	uint64_t extra;
};

enum Says { Started = 1, Loaded, Failed, Called, Answered, Ended };
enum Order { Start = 1, Malloc, Free, RecordStream, Init, Reset, EndThread, Quit, MallocAligned, Resize, Sleep, Wake, End, FunctionDue };

void writeAll(const void *from, size_t bytes) {
	auto at = static_cast<const char *>(from);
	while (bytes > 0) {
		ssize_t n = write(out, at, bytes);
		if (n <= 0) _exit(3); // the examining process has ended
		at += n;
		bytes -= size_t(n);
	}
}

bool readAll(int from, void *to, size_t bytes) {
	auto at = static_cast<char *>(to);
	while (bytes > 0) {
		ssize_t n = read(from, at, bytes);
		if (n <= 0) return false;
		at += n;
		bytes -= size_t(n);
	}
	return true;
}

std::mutex writing; // held from the beginning of a call to its answer

void say(Message m, const std::string &extra = "") {
	m.extra = extra.size();
	std::string all(reinterpret_cast<const char *>(&m), sizeof m);
	all += extra;
	writeAll(all.data(), all.size());
}

void sayText(int32_t type, const std::string &text) {
	Message m{};
	m.type = type;
	say(m, text);
}

// A word of an operation that names memory: how many bytes, and whether the operation writes
// them. Size is a number of bytes, or with factor the word that says how many things.
struct Place {
	int operation, word;
	enum { Fixed, Many, Text } kind;
	uint64_t size, factor;
	bool written;
};

const Place places[] = {
	{GAUGEBLOCK_PROPERTIES, 3, Place::Fixed, 256, 0, true},
	{GAUGEBLOCK_CAPTURE_INFO, 5, Place::Many, 6, 8, true},
	{GAUGEBLOCK_NODE_DEPENDENCIES, 1, Place::Many, 2, 8, true},
	{GAUGEBLOCK_IPC_GET, 1, Place::Fixed, 64, 0, true},
	{GAUGEBLOCK_IPC_OPEN, 1, Place::Fixed, 64, 0, false},
	{GAUGEBLOCK_COPY_IN, 3, Place::Many, 4, 1, false},
	{GAUGEBLOCK_COPY_OUT, 2, Place::Many, 4, 1, true},
	{GAUGEBLOCK_LAUNCH, 2, Place::Text, 0, 0, false},
	{GAUGEBLOCK_LAUNCH, 3, Place::Many, 4, 16, false},
	{GAUGEBLOCK_LAUNCH, 5, Place::Many, 6, 16, false},
	{GAUGEBLOCK_FAULT, 0, Place::Text, 0, 0, false},
	{GAUGEBLOCK_FAULT, 2, Place::Text, 0, 0, false},
	{GAUGEBLOCK_HAZARD, 1, Place::Many, 2, 1, true},
};

char *memoryAt(uint64_t word) { return reinterpret_cast<char *>(uintptr_t(word)); }

uint64_t bytesOf(const Place &p, const uint64_t *words) {
	switch (p.kind) {
	case Place::Fixed: return p.size;
	case Place::Many: return words[p.size] * p.factor;
	default: return words[p.word] == 0 ? 0 : strlen(memoryAt(words[p.word])); // whoever reads it adds the 0
	}
}

void addNumber(std::string &to, uint64_t n) { to.append(reinterpret_cast<const char *>(&n), sizeof n); }

// What the examining process cannot do for this one, for it would have to look at memory here.
bool notForOthers(int operation) {
	return operation == GAUGEBLOCK_WAIT_VALUE || operation == GAUGEBLOCK_PAGE_EXPORT || operation == GAUGEBLOCK_PAGE_IMPORT;
}

// Functions of the host that streams have called (cudaLaunchHostFunc), in their order. As those of a real
// driver they run on another thread than the program's: a function may take a lock that the program has during
// a call of CUDA. When they run is nevertheless told by the program's calls: when it waits (finish), when it asks
// again and again (go), and at the end of an order. A program that waits for the function without calling CUDA
// waits for half a second.
class HostFunctions {
public:
	void add(uint64_t function, uint64_t argument) {
		std::lock_guard<std::mutex> guard(lock);
		due.push_back({function, argument});
		if (!started) std::thread([this] { run(); }).detach();
		started = true;
		changed.notify_all();
	}
	void go() {
		std::lock_guard<std::mutex> guard(lock);
		hurries = !due.empty();
		changed.notify_all();
	}
	// finish waits until all have run, but not for ever: one may wait for a lock of the program's.
	void finish() {
		std::unique_lock<std::mutex> guard(lock);
		hurries = !due.empty();
		changed.notify_all();
		changed.wait_for(guard, std::chrono::seconds(1), [this] { return due.empty() && !running; });
	}
	static bool &inside() {
		static thread_local bool in = false;
		return in;
	}

private:
	void run() {
		inside() = true;
		std::unique_lock<std::mutex> guard(lock);
		for (;;) {
			changed.wait(guard, [this] { return !due.empty(); });
			changed.wait_for(guard, std::chrono::milliseconds(500), [this] { return hurries; });
			auto next = due.front();
			due.pop_front();
			running = true;
			guard.unlock();
			reinterpret_cast<void (*)(void *)>(uintptr_t(next.first))(memoryAt(next.second));
			guard.lock();
			running = false;
			hurries = hurries && !due.empty();
			changed.notify_all();
		}
	}
	std::mutex lock;
	std::condition_variable changed;
	std::deque<std::pair<uint64_t, uint64_t>> due;
	bool started = false, hurries = false, running = false;
};
HostFunctions &functions = *new HostFunctions; // which the end of the process does not destroy under their thread

constexpr int manyQueries = 100; // in one order: the program waits for something
thread_local int queries;

// waited lets functions of the host run that a call has waited for.
void waited(int operation) {
	switch (operation) {
	case GAUGEBLOCK_STREAM_SYNCHRONIZE:
	case GAUGEBLOCK_EVENT_SYNCHRONIZE:
	case GAUGEBLOCK_DEVICE_SYNCHRONIZE: functions.finish(); break;
	case GAUGEBLOCK_STREAM_QUERY:
	case GAUGEBLOCK_EVENT_QUERY:
		if (++queries > manyQueries) functions.go();
	}
}

thread_local int inCall; // the libraries touch memory of the host for a device

struct InCall {
	InCall() { inCall++; }
	~InCall() { inCall--; }
};

// call is the machine that the libraries of the fake GPU see. What is asked is an operation, with
// the capture mode of the thread in the upper bits.
int call(int asked, uint64_t *words) {
	const int operation = asked & ((1 << GAUGEBLOCK_MODE) - 1);
	if (operation == GAUGEBLOCK_FINISH) return 0;
	if (HostFunctions::inside()) return 800; // cudaErrorNotPermitted
	InCall in;
	if (operation == GAUGEBLOCK_LACKS) {
		fprintf(stderr, "fake CUDA: %s is not supported\n", memoryAt(words[0]));
		return 0;
	}
	if (notForOthers(operation)) {
		fprintf(stderr, "fake CUDA: operation %d is not supported in a library that is examined\n", operation);
		return 801;
	}
	Message m{};
	m.type = Called;
	m.number = asked;
	memcpy(m.words, words, sizeof m.words);
	std::string extra;
	std::vector<std::pair<const Place *, uint64_t>> named;
	for (const Place &p : places) {
		if (p.operation != operation) continue;
		uint64_t bytes = bytesOf(p, words);
		named.emplace_back(&p, bytes);
		addNumber(extra, p.written ? 0 : bytes);
		if (!p.written && bytes > 0) extra.append(memoryAt(words[p.word]), bytes);
	}
	std::unique_lock<std::mutex> one(writing);
	say(m, extra);
	Message answer;
	for (;;) {
		if (!readAll(answers, &answer, sizeof answer)) _exit(3);
		if (answer.type != FunctionDue) break;
		functions.add(answer.words[0], answer.words[1]);
	}
	std::string memory(answer.extra, 0);
	if (!readAll(answers, &memory[0], memory.size())) _exit(3);
	size_t at = 0;
	for (auto &n : named) {
		answer.words[n.first->word] = words[n.first->word];
		uint64_t bytes = 0;
		if (at + sizeof bytes > memory.size()) continue;
		memcpy(&bytes, &memory[at], sizeof bytes);
		at += sizeof bytes;
		if (n.first->written && bytes > 0) memcpy(memoryAt(words[n.first->word]), &memory[at], bytes < n.second ? bytes : n.second);
		at += bytes;
	}
	memcpy(words, answer.words, sizeof answer.words);
	one.unlock();
	waited(operation);
	return answer.number;
}

void (*guard)();              // of the fake GPU: the next touch of the host's memory is told
int (*unguard)(const void *); // of the fake GPU: the memory may be touched again; 0: it is other memory

// touched tells that the program itself touches memory that devices reach.
void touched(int number, siginfo_t *info, [[maybe_unused]] void *context) {
	const int before = errno;
	if (!unguard(info->si_addr)) {
		::signal(number, SIG_DFL); // the next try ends the process
		return;
	}
	if (inCall == 0) {
		bool writes = false;
#ifdef __x86_64__
		writes = static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_ERR] & 2;
#endif
		uint64_t words[8] = {uint64_t(uintptr_t(info->si_addr)), writes};
		call(GAUGEBLOCK_TOUCHED, words);
	}
	errno = before;
}

void watchMemory() {
	struct sigaction a = {};
	a.sa_sigaction = touched;
	a.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigaction(SIGSEGV, &a, nullptr);
}

// The functions of the library, by their roles. PyTorch's CUDAPluggableAllocator has the first five, and others for
// statistics and pools, which are not examined.
struct Functions {
	void *(*malloc)(ssize_t, int, void *);
	void (*free)(void *, ssize_t, int, void *);
	void (*record_stream)(void *, void *);
	void (*init)(int);
	void (*reset)();
	const char *(*contract)();
	// and these, which PyTorch has not
	void *(*malloc_aligned)(ssize_t, size_t, int, void *);
	int (*resize)(void *, ssize_t, ssize_t, int, void *);
	void (*sleep)();
	void (*wake)();
	void (*end)();
} f;

struct Role {
	const char *name;
	void **function;
};
const Role roles[] = {
	{"malloc", reinterpret_cast<void **>(&f.malloc)},
	{"free", reinterpret_cast<void **>(&f.free)},
	{"record_stream", reinterpret_cast<void **>(&f.record_stream)},
	{"init", reinterpret_cast<void **>(&f.init)},
	{"reset", reinterpret_cast<void **>(&f.reset)},
	{"contract", reinterpret_cast<void **>(&f.contract)},
	{"malloc_aligned", reinterpret_cast<void **>(&f.malloc_aligned)},
	{"resize", reinterpret_cast<void **>(&f.resize)},
	{"sleep", reinterpret_cast<void **>(&f.sleep)},
	{"wake", reinterpret_cast<void **>(&f.wake)},
	{"end", reinterpret_cast<void **>(&f.end)},
};

void (*makeOwnStream)(int, uint64_t); // of the fake GPU: the calling thread's default stream on a device
void (*makeCurrent)(int);             // of the fake GPU: the calling thread's device
int (*currentDevice)();               // of the fake GPU: the same
int (*pushed)();                      // of the fake GPU: how many contexts the calling thread has pushed
std::vector<int (*)()> lastErrors;    // cudaGetLastError of each runtime
const char *(*errorName)(int);        // cudaGetErrorName

void *pointer(uint64_t word) { return reinterpret_cast<void *>(uintptr_t(word)); }
uint64_t word(void *p) { return uint64_t(reinterpret_cast<uintptr_t>(p)); }

// perform does what an order says; words are what it is given and answers in.
void perform(int32_t type, uint64_t *w) {
	switch (type) {
	case Malloc:
		if (w[5] != 0) makeOwnStream(int(w[1]), w[5]);
		makeCurrent(int(w[4]));
		w[0] = word(f.malloc(ssize_t(w[0]), int(w[1]), pointer(w[2])));
		break;
	case MallocAligned:
		if (w[5] != 0) makeOwnStream(int(w[1]), w[5]);
		makeCurrent(int(w[4]));
		w[0] = word(f.malloc_aligned(ssize_t(w[0]), size_t(w[3]), int(w[1]), pointer(w[2])));
		break;
	case Free:
		if (w[5] != 0) makeOwnStream(int(w[2]), w[5]);
		makeCurrent(int(w[4]));
		f.free(pointer(w[0]), ssize_t(w[1]), int(w[2]), pointer(w[3]));
		break;
	case RecordStream:
		makeCurrent(int(w[2]));
		f.record_stream(pointer(w[0]), pointer(w[1]));
		break;
	case Init: f.init(int(w[0])); break;
	case Reset: f.reset(); break;
	case Resize:
		makeCurrent(int(w[4]));
		w[0] = uint64_t(f.resize(pointer(w[0]), ssize_t(w[1]), ssize_t(w[5]), int(w[2]), pointer(w[3])) != 0);
		break;
	case Sleep: f.sleep(); break;
	case Wake: f.wake(); break;
	case End: f.end(); break;
	}
}

// left is what a call leaves in its thread: the last error, which is taken away, how many contexts are
// pushed, and the current device plus 1.
uint64_t left() {
	int error = 0;
	for (auto last : lastErrors) {
		int e = last();
		error = error != 0 ? error : e;
	}
	return uint64_t(uint32_t(error)) << 32 | uint32_t(uint16_t(pushed())) << 16 | uint16_t(currentDevice() + 1);
}

thread_local std::string raised; // what a function that is not C++ has raised

// obey does it and answers.
void obey(const Message &order) {
	Message answer{};
	answer.type = Answered;
	memcpy(answer.words, order.words, sizeof answer.words);
	std::string text;
	const uint64_t before = left(); // by whoever was here before
	queries = 0;
	try {
		perform(order.type, answer.words);
	} catch (const std::exception &e) {
		answer.number = 1;
		text = e.what();
	} catch (...) {
		answer.number = 1;
		text = "an exception that is no std::exception";
	}
	if (!raised.empty()) {
		answer.number = 1;
		text.swap(raised);
		raised.clear();
	}
	functions.finish();
	const uint64_t now = left();
	answer.words[7] = now - (before & 0xffff0000);
	if (answer.number == 0 && now >> 32 != 0) text = errorName(int(now >> 32));
	guard();
	std::lock_guard<std::mutex> one(writing);
	say(answer, text);
}

// A thread of the program: it does what it is told, one order after the other.
class Worker {
public:
	Worker() : thread([this] { run(); }) {}
	void give(const Message &order) {
		std::lock_guard<std::mutex> guard(lock);
		next = order;
		given = true;
		changed.notify_one();
	}
	void end() {
		Message m{};
		m.type = EndThread;
		give(m);
		thread.join();
	}

private:
	void run() {
		for (;;) {
			std::unique_lock<std::mutex> guard(lock);
			changed.wait(guard, [this] { return given; });
			given = false;
			Message order = next;
			guard.unlock();
			if (order.type == EndThread) return;
			obey(order);
		}
	}
	std::mutex lock;
	std::condition_variable changed;
	bool given = false;
	Message next{};
	std::thread thread;
};

bool find(void *library, int argc, char **argv, std::string &problem) {
	for (int i = 3; i < argc; i++) {
		std::string role = argv[i];
		std::string symbol = role.substr(role.find('=') + 1);
		role = role.substr(0, role.find('='));
		for (const Role &r : roles) {
			if (role != r.name) continue;
			*r.function = dlsym(library, symbol.c_str());
			if (*r.function == nullptr) {
				problem = dlerror();
				return false;
			}
		}
	}
	return true;
}

// program is the life of a process that has the library.
// keepSilent: a process that the library has forked, and that returns from a call as well, is not heard.
void keepSilent() {
	const int nothing = open("/dev/null", O_RDWR);
	for (int end : {orders, answers, out}) dup2(nothing, end);
}

[[noreturn]] void program(int argc, char **argv) {
	setpgid(0, 0); // so that it can be ended with all that it starts
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	Message started{};
	started.type = Started;
	started.words[0] = uint64_t(getpid());
	say(started);
	pthread_atfork(nullptr, nullptr, keepSilent);
	std::string problem;
	if (strcmp(argv[2], "-") != 0) {
		void *library = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
		if (library == nullptr) problem = dlerror();
		if (library == nullptr || !find(library, argc, argv, problem)) {
			sayText(Failed, problem);
			_exit(111);
		}
	}
	watchMemory();
	sayText(Loaded, f.contract == nullptr ? "" : f.contract());
	std::map<int32_t, std::unique_ptr<Worker>> workers;
	for (;;) {
		Message order;
		if (!readAll(orders, &order, sizeof order) || order.type == Quit) _exit(111);
		if (order.type == FunctionDue) {
			functions.add(order.words[0], order.words[1]);
			functions.finish();
			continue;
		}
		if (order.number == 0) {
			obey(order);
			continue;
		}
		auto &w = workers[order.number];
		if (order.type != EndThread) {
			if (w == nullptr) w.reset(new Worker);
			w->give(order);
			continue;
		}
		if (w != nullptr) w->end();
		workers.erase(order.number);
		Message answer{};
		answer.type = Answered;
		say(answer);
	}
}

void *load(const std::string &path) {
	void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
	if (library == nullptr) {
		sayText(Failed, dlerror());
		exit(2);
	}
	return library;
}

} // namespace

// gaugeblock_role names a function, and gaugeblock_raise says that the function which runs has raised
// an exception: both are for functions that are not in a library.
extern "C" void gaugeblock_role(const char *name, void *function) {
	for (const Role &r : roles) {
		if (strcmp(r.name, name) == 0) *r.function = function;
	}
}

extern "C" void gaugeblock_raise(const char *text) { raised = text; }

// gaugeblock_open makes what this process calls of CUDA go to the examining one.
extern "C" void gaugeblock_open(const char *directory) {
	std::string fake = directory;
	void *driver = load(fake + "/libcuda.so.1");
	for (const char *name : {"/libcudart.so.13", "/libcudart.so.12", "/libnvidia-ml.so.1"}) {
		void *library = load(fake + name);
		if (void *last = dlsym(library, "cudaGetLastError")) lastErrors.push_back(reinterpret_cast<int (*)()>(last));
		if (void *named = dlsym(library, "cudaGetErrorName")) errorName = reinterpret_cast<const char *(*)(int)>(named);
	}
	currentDevice = reinterpret_cast<int (*)()>(dlsym(driver, "gaugeblock_current"));
	pushed = reinterpret_cast<int (*)()>(dlsym(driver, "gaugeblock_pushed"));
	guard = reinterpret_cast<void (*)()>(dlsym(driver, "gaugeblock_host_guard"));
	unguard = reinterpret_cast<int (*)(const void *)>(dlsym(driver, "gaugeblock_host_unguard"));
	reinterpret_cast<gaugeblock_register>(dlsym(driver, "gaugeblock_cuda_register"))(call);
	makeOwnStream = reinterpret_cast<void (*)(int, uint64_t)>(dlsym(driver, "gaugeblock_make_own_stream"));
	makeCurrent = reinterpret_cast<void (*)(int)>(dlsym(driver, "gaugeblock_make_current"));
	reinterpret_cast<void (*)()>(dlsym(driver, "gaugeblock_initialize"))(); // who has streams has called CUDA
}

// gaugeblock_run does what is ordered until there are no more orders.
extern "C" int gaugeblock_run(int argc, char **argv) {
	Message order;
	while (readAll(orders, &order, sizeof order)) {
		if (order.type != Start) continue;
		pid_t child = fork();
		if (child == 0) program(argc, argv);
		int status = 0;
		waitpid(child, &status, 0);
		Message m{};
		m.type = Ended;
		m.words[0] = uint64_t(status);
		say(m);
	}
	return 0;
}

#ifndef GAUGEBLOCK_PART
int main(int argc, char **argv) {
	gaugeblock_open(argv[1]);
	return gaugeblock_run(argc, argv);
}
#endif
