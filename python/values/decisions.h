// What the program reads from the device, and whether it was known: by the line of Python.
#pragma once

#include <c10/util/Exception.h>

#include <map>
#include <mutex>
#include <string>

namespace decisions {

enum { DECISION, FLOAT }; // of an integer, a boolean or a count; of a floating-point number

inline void (*line)(char *text, size_t size); // writes the line that Python is at
inline int (*check)();                        // the boolean with which Python's line goes on if it stops with the other, or -1
inline int (*used)();                         // what becomes of the number that Python's line reads: added
enum { DECIDES = 1, NOT_ZERO = 2 };           // a condition rests on it; it divides, or has a logarithm taken
inline std::mutex lock;
inline std::map<std::string, long> unknown[2];
inline long known_reads;
constexpr long endless = 100000;

// count notes a read. It reports whether what is read may not be 0.
inline bool count(std::string what, int kind, bool known) {
	if (known) {
		std::lock_guard<std::mutex> guard(lock);
		known_reads++;
		return false;
	}
	int use = kind == FLOAT && used != nullptr ? used() : 0;
	if ((use & DECIDES) != 0) {
		kind = DECISION;
		what += " in a condition";
	}
	char at[512] = "";
	if (line != nullptr) {
		line(at, sizeof at);
	}
	long times;
	{
		std::lock_guard<std::mutex> guard(lock);
		times = ++unknown[kind][std::string(at) + " " + what];
	}
	TORCH_CHECK(times < endless, "gaugeblock: ", at, " has read ", endless, " times a value (", what,
		") that only a GPU would have computed, and waits for it to change");
	return (use & NOT_ZERO) != 0;
}

} // namespace decisions
