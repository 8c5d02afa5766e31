// What programs of the kind "program" have in common: random programs for an allocator, each
// performed in a child process, and what is found in it made small.
//
// An operation is a line of text. A program is legal with any of its lines left out:
// operations on memory that is not there do nothing.
//
//	PROGRAM [--seeds FIRST-LAST] [--operations N]
//
// writes a line of JSON for each seed: found says by what rule something was found (empty:
// nothing was), after how many operations, in what words; and for the first such seed the
// smallest program.
#pragma once
#include <cuda_runtime_api.h>
#include <gaugeblock_cuda.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <random>
#include <set>
#include <string>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace program {

using Lines = std::vector<std::string>;
using Random = std::mt19937_64;

inline size_t below(Random &r, size_t n) { return r() % n; }

// Subject is what a program is performed on. Each is used once, in a process of its own.
struct Subject {
	virtual ~Subject() = default;
	virtual Lines random(Random &r, size_t operations) = 0; // makes a program; calls nothing of CUDA
	virtual void perform(const std::string &line) = 0;
	virtual void finish() {}
};

// violation ends the child process: a rule is broken, in the words of the text.
[[noreturn]] void violation(const char *rule, const std::string &text);

struct Finding {
	std::string rule, text;
	size_t operations = 0; // that were performed, the last of which shows it
};

inline int report = -1; // the child's end of the pipe

inline void say(char kind, const std::string &text) {
	const std::string line = kind + text + '\n';
	if (write(report, line.data(), line.size()) < 0) _exit(3);
}

[[noreturn]] inline void violation(const char *rule, const std::string &text) {
	say('v', std::string(rule) + '\t' + text);
	_exit(0);
}

inline void check_hazards() {
	if (gaugeblock_hazards() == 0) return;
	char text[4096];
	gaugeblock_hazard(0, text, sizeof text);
	violation("hazard", text);
}

// must ends the child process if a call of the program's own fails: memory that the
// allocator has given is not usable.
inline void must(int error, const char *call) {
	if (error != 0) violation("a call is refused", std::string(call) + ": " + cudaGetErrorName((cudaError_t)error));
}
#define MUST(call) program::must(call, #call)

constexpr char hangs[] = "the process hangs";

// performed performs a program in a child process.
inline Finding performed(Subject &subject, const Lines &lines, unsigned seconds = 4) {
	int ends[2], errors[2];
	if (pipe(ends) != 0 || pipe(errors) != 0) std::abort();
	std::fflush(stdout);
	const pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		report = ends[1];
		dup2(errors[1], 2);
		alarm(seconds);
		const itimerval busy = {{0, 0}, {(time_t)seconds / 10, 400000}}; // of the processor's time
		setitimer(ITIMER_PROF, &busy, nullptr);
		for (const auto &line : lines) {
			say('o', "");
			subject.perform(line);
			check_hazards();
		}
		say('o', "");
		subject.finish();
		check_hazards();
		say('e', "");
		_exit(0); // without the exit functions of what is examined
	}
	close(ends[1]);
	close(errors[1]);
	std::string heard, said;
	pollfd both[2] = {{ends[0], POLLIN, 0}, {errors[0], POLLIN, 0}};
	while (both[0].fd >= 0) {
		poll(both, 2, -1);
		for (int i = 0; i < 2; i++) {
			if (both[i].revents == 0) continue;
			char text[4096];
			const ssize_t n = read(both[i].fd, text, sizeof text);
			if (n <= 0) both[i].fd = -1;
			else (i == 0 ? heard : said).append(text, n);
		}
	}
	close(ends[0]);
	close(errors[0]);
	int status = 0;
	waitpid(child, &status, 0);

	Finding f;
	bool ended = false;
	for (size_t at = 0, end; (end = heard.find('\n', at)) != std::string::npos; at = end + 1) {
		const std::string line = heard.substr(at, end - at);
		f.operations += line[0] == 'o';
		ended = ended || line[0] == 'e';
		if (line[0] == 'v') {
			f.rule = line.substr(1, line.find('\t') - 1);
			f.text = line.substr(line.find('\t') + 1);
		}
	}
	f.operations = std::min(f.operations, lines.size());
	if (!f.rule.empty() || ended) return f;
	const bool hung = WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF);
	f.rule = hung ? hangs : "the process ends";
	f.text = hung ? "it comes back from no call" : WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit status " + std::to_string(WEXITSTATUS(status));
	if (!said.empty()) f.text += ": " + said.substr(0, said.find('\n'));
	return f;
}

// smallest leaves out what is not needed for a finding by the same rule.
inline Lines smallest(Subject &subject, Lines lines, Finding &f) {
	lines.resize(f.operations);
	for (size_t part = std::max<size_t>(lines.size() / 2, 1);; part = std::max<size_t>(part / 2, 1)) {
		bool shorter = false;
		for (size_t end = lines.size(); end > 0;) {
			const size_t begin = end > part ? end - part : 0;
			Lines fewer(lines.begin(), lines.begin() + begin);
			fewer.insert(fewer.end(), lines.begin() + end, lines.end());
			const Finding again = performed(subject, fewer);
			if (again.rule == f.rule) {
				lines = fewer;
				lines.resize(again.operations);
				f.text = again.text;
				shorter = true;
			}
			end = std::min(begin, lines.size());
		}
		if (part == 1 && !shorter) return lines;
	}
}

inline std::string quoted(const std::string &text) {
	std::string q = "\"";
	for (const char c : text) {
		if (c == '"' || c == '\\') q += '\\';
		if ((unsigned char)c >= ' ') q += c;
	}
	return q + '"';
}

// settings sets variables that the fake GPU reads, unless they are set. The libraries see the
// variables that the process began with: it begins once more if there is anything new.
inline void settings(std::vector<std::pair<std::string, std::string>> variables, char **argv) {
	variables.emplace_back("GAUGEBLOCK_CUDA_SCHEDULE", "lazy"); // work is done as late as it may be
	bool changed = false;
	for (const auto &[name, value] : variables) {
		changed = changed || std::getenv(name.c_str()) == nullptr;
		setenv(name.c_str(), value.c_str(), 0);
	}
	if (changed) {
		execv("/proc/self/exe", argv);
		std::abort();
	}
}

// Words are the command line of a program that has more arguments than options:
//
//	PROGRAM LIBRARY [--OPTION VALUE ...] [WORD ...] [NAME=NUMBER ...]
struct Words {
	const char *library;
	std::vector<char *> options; // with the program's name, for run
	std::set<std::string> words;

	bool has(const char *word) const { return words.count(word) != 0; }
};

// read takes the words apart. number is called with each that is neither an option nor the library, and says whether it has taken it.
template <class Number> Words read(int argc, char **argv, const char *name, Number number) {
	if (argc < 2) {
		std::fprintf(stderr, "usage: %s LIBRARY [--seeds FIRST-LAST] [--operations N] [WORD ...]\n", name);
		std::exit(2);
	}
	Words w = {argv[1], {argv[0]}, {}};
	for (int i = 2; i < argc; i++) {
		if (std::strncmp(argv[i], "--", 2) == 0) {
			w.options.push_back(argv[i]);
			if (i + 1 < argc) w.options.push_back(argv[++i]);
		} else if (!number(argv[i])) {
			w.words.insert(argv[i]);
		}
	}
	return w;
}

// count takes a word such as streams=3, if it has the name.
inline bool count(const char *word, const char *name, size_t &n) {
	const size_t length = std::strlen(name);
	return std::strncmp(word, name, length) == 0 && std::sscanf(word + length, "=%zu", &n) == 1;
}

inline int run(Subject &subject, int argc, char **argv) {
	size_t first = 1, last = 10, operations = 1000;
	for (int i = 1; i + 1 < argc; i += 2) {
		if (std::strcmp(argv[i], "--seeds") == 0 && std::sscanf(argv[i + 1], "%zu-%zu", &first, &last) == 2) continue;
		if (std::strcmp(argv[i], "--operations") == 0 && std::sscanf(argv[i + 1], "%zu", &operations) == 1) continue;
		std::fprintf(stderr, "usage: %s [--seeds FIRST-LAST] [--operations N]\n", argv[0]);
		return 2;
	}
	bool made_small = false;
	for (size_t seed = first; seed <= last; seed++) {
		Random r(seed);
		const Lines lines = subject.random(r, operations);
		Finding f = performed(subject, lines);
		if (f.rule == hangs) f = performed(subject, lines, 20); // the machine may be slow
		const size_t found = f.operations;
		std::string small;
		if (!f.rule.empty() && !made_small) {
			made_small = true;
			for (const auto &line : smallest(subject, lines, f)) small += (small.empty() ? "" : ",") + quoted(line);
		}
		std::printf("{\"seed\":%zu,\"found\":%s,\"operations\":%zu,\"text\":%s,\"smallest\":[%s]}\n", seed, quoted(f.rule).c_str(), found,
			quoted(f.text).c_str(), small.c_str());
	}
	return 0;
}

} // namespace program
