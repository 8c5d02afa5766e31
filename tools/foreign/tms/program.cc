// Programs for torch_memory_saver: memory of tags is allocated, worked on, freed, and
// released and brought back by pause and resume. Paused memory is not touched, and a tag is
// paused and resumed as a whole. QUIET: a program waits for the device before it pauses.
//
//	malloc MEMORY BYTES TAG
//	write MEMORY
//	free MEMORY
//	pause TAG
//	resume TAG
#include "../program/program.h"

#include <map>
#include <sstream>
#include <sys/types.h>

extern "C" {
void *tms_torch_malloc(ssize_t bytes, int device, cudaStream_t stream);
void tms_torch_free(void *ptr, ssize_t bytes, int device, cudaStream_t stream);
void tms_set_interesting_region(bool);
void tms_set_current_tag(const char *tag);
void tms_pause(const char *tag); // newer versions return a number
void tms_resume(const char *tag);
}

namespace {

constexpr int tags = 2;

struct Memory {
	void *ptr;
	size_t bytes;
	int tag;
};

struct Saver : program::Subject {
	cudaStream_t stream = nullptr;
	std::map<int, Memory> memory;
	bool paused[tags] = {};

	program::Lines random(program::Random &r, size_t operations) override {
		program::Lines lines;
		std::vector<int> live;
		for (int next = 0; lines.size() < operations;) {
			std::ostringstream line;
			const size_t kind = live.empty() ? 0 : program::below(r, 9), i = live.empty() ? 0 : program::below(r, live.size());
			if (kind < 2) {
				live.push_back(next);
				line << "malloc " << next++ << ' ' << 1 + program::below(r, 5 << 20) << ' ' << program::below(r, tags);
			} else if (kind < 6) {
				line << "write " << live[i];
			} else if (kind < 8) {
				line << (kind == 6 ? "pause " : "resume ") << program::below(r, tags);
			} else {
				line << "free " << live[i];
				live.erase(live.begin() + i);
			}
			lines.push_back(line.str());
		}
		return lines;
	}

	// have is a tag's memory: of what is not there nothing can be paused.
	bool have(int tag) const {
		return std::any_of(memory.begin(), memory.end(), [tag](const auto &m) { return m.second.tag == tag; });
	}

	void perform(const std::string &line) override {
		if (stream == nullptr) {
			MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
			tms_set_interesting_region(true);
		}
		std::istringstream words(line);
		std::string what;
		size_t a = 0, b = 0;
		int c = 0;
		words >> what >> a >> b >> c;
		const std::string tag = std::to_string(what == "malloc" ? c : (int)a);
		if (what == "malloc") {
			if (paused[c]) return;
			tms_set_current_tag(tag.c_str());
			void *p = tms_torch_malloc(b, 0, stream);
			memory[a] = {p, b, c};
		} else if (what == "pause" || what == "resume") {
			if (paused[a] == (what == "pause") || !have(a)) return;
			paused[a] = !paused[a];
#ifdef QUIET
			MUST(cudaDeviceSynchronize());
#endif
			what == "pause" ? tms_pause(tag.c_str()) : tms_resume(tag.c_str());
		} else if (const auto m = memory.find(a); m == memory.end()) {
			return;
		} else if (what == "free") {
			tms_torch_free(m->second.ptr, m->second.bytes, 0, stream);
			const int was = m->second.tag;
			memory.erase(m);
			paused[was] = paused[was] && have(was);
		} else if (!paused[m->second.tag]) {
			MUST(cudaMemsetAsync(m->second.ptr, 1, m->second.bytes, stream));
		}
	}

	void finish() override { MUST(cudaDeviceSynchronize()); }
};

} // namespace

int main(int argc, char **argv) {
	program::settings({}, argv);
	Saver subject;
	return program::run(subject, argc, argv);
}
