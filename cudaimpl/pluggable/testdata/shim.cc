// A program with functions of its own in the place of libgaugeblock.so's: it looks what torch.cc makes of them.
#include "../libgaugeblock/gaugeblock.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

extern "C" {
void *gaugeblock_torch_malloc(size_t, int, void *);
void gaugeblock_torch_free(void *, size_t, int, void *);
void gaugeblock_torch_begin_allocate_to_pool(int, std::pair<unsigned long long, unsigned long long>, std::function<bool(void *)>);
}

static char memory[8];
static std::string said; // what was called
static int (*accepts)(void *, void *);
static void (*drop)(void *);
static void *filter;

static void say(const char *what, unsigned long long a, unsigned long long b, const void *p) {
	char text[100];
	std::snprintf(text, sizeof text, "%s %llu %llu %d;", what, a, b, p == memory);
	said += text;
}

extern "C" {
void *gaugeblock_malloc(size_t size, int device, void *stream) {
	say("malloc", size, device, stream);
	return size == 1 ? memory : nullptr;
}
void gaugeblock_free(void *, size_t size, int device, void *stream) { say("free", size, device, stream); }
char *gaugeblock_last_error() { return strdup("no memory is left"); }
void gaugeblock_free_text(char *text) {
	said += "text;";
	free(text);
}
void gaugeblock_begin_allocate_to_pool(int device, gaugeblock_pool id, int (*a)(void *, void *), void (*d)(void *), void *f) {
	say("begin", id.capture, id.user, nullptr);
	said += std::to_string(device);
	accepts = a, drop = d, filter = f;
}
}

static int wrong;
static void expect(const char *what, const std::string &got, const std::string &want) {
	if (got != want) {
		std::printf("%s: %s, not %s\n", what, got.c_str(), want.c_str());
		wrong = 1;
	}
	said.clear();
}

int main() {
	std::string got = gaugeblock_torch_malloc(1, 2, memory) == memory ? "memory " : "none ";
	expect("malloc", got + said, "memory malloc 1 2 1;");
	got = gaugeblock_torch_malloc(0, 3, nullptr) == nullptr ? "none " : "memory ";
	expect("no bytes", got + said, "none malloc 0 3 0;");
	try {
		gaugeblock_torch_malloc(9, 0, nullptr);
		got = "none";
	} catch (const std::runtime_error &e) {
		got = e.what();
	}
	expect("no memory", got + ' ' + said, "CUDA out of memory: gaugeblock: no memory is left malloc 9 0 0;text;");
	gaugeblock_torch_free(memory, 5, 6, memory);
	expect("free", said, "free 5 6 1;");
	auto alive = std::make_shared<int>(0);
	gaugeblock_torch_begin_allocate_to_pool(4, {7, 8}, [alive](void *stream) { return stream == memory; });
	expect("begin", said, "begin 7 8 0;4");
	expect("the filter", std::to_string(accepts(filter, memory)) + std::to_string(accepts(filter, nullptr)), "10");
	long before = alive.use_count();
	drop(filter);
	expect("who holds it", std::to_string(before) + std::to_string(alive.use_count()), "21");
	return wrong;
}
