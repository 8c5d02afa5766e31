// What the program reads from the device, and whether it was known: by the line of Python.
#pragma once

#include <c10/util/Exception.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace decisions {

enum { DECISION, FLOAT, TURNED, KINDS }; // of an integer, a boolean or a count; of a floating-point number; taken to be another

inline void (*line)(char *text, size_t size); // writes the line that Python is at
inline int (*check)();                        // the boolean with which Python's line goes on if it stops with the other, or -1
inline int (*used)();                         // what becomes of the number that Python's line reads: added
inline int (*loops)(const char *place, long reads); // whether the loop around Python's line makes progress: gaugeblock_loops.py
enum { DECIDES = 1, NOT_ZERO = 2 };           // a condition rests on it; it divides, or has a logarithm taken
enum { PROGRESS, IN_VAIN, WAITS, FOR };
enum class What { boolean, integer, number, count, copy, other };

// A Place is a line of Python that reads what is not known.
struct Place {
	long since = 0, still = 0; // reads since Python was asked, and since there was progress
	long patience = 0;         // reads until it is asked again
	int asked = 0, vain = 0;   // how often without progress, and with none of the loops around it either
	int turns = 0, hold = 0;   // how often it was taken to be something else, and for how many more reads it is
	int64_t allocated = 0;     // when it was asked
	int last = -1;             // a boolean
};

// What is done about a read.
struct Read {
	Place *place = nullptr; // if what is read is not known
	bool not_zero = false;  // it may not be 0
	int turn = 0;           // which of the other values it is to be; 0: none
};

inline std::mutex lock;
inline std::map<std::string, long> unknown[KINDS];
inline std::map<std::string, Place> places;
inline int64_t (*allocated)();                // bytes on the device
constexpr long endless = 100000, in_vain = 200, ends_soon = 10000;

// patience is after how many reads without progress a loop is taken to end; 0: never.
inline long patience() {
	static const char *given = std::getenv("GAUGEBLOCK_RUN_PATIENCE");
	static const long reads = given != nullptr ? std::atol(given) : 300;
	return reads;
}

// turn says which other value a read is to have, so that a loop ends that waits for it.
inline int turn(Place &p, const std::string &where, What what, bool decides) {
	p.still++;
	if (p.hold > 0) {
		p.hold--;
		return p.turns;
	}
	if (p.patience == 0) {
		p.patience = patience() > 0 ? std::max(patience() / 3, 1L) : endless; // the first time nothing can be compared, and then it must have stood still twice
	}
	if (++p.since < p.patience || loops == nullptr) {
		return 0;
	}
	int state = loops(where.c_str(), std::exchange(p.since, 0));
	int64_t now = allocated != nullptr ? allocated() : 0;
	if (std::exchange(p.allocated, now) < now || state == PROGRESS) {
		p.asked = p.vain = 0;
		p.still = 0;
		return 0;
	}
	p.vain = state == IN_VAIN ? p.vain + 1 : 0;
	bool all_tried = p.vain >= in_vain && p.still >= 5 * patience(); // by then other places of the loop were turned as well
	TORCH_CHECK(state == FOR || (p.still < endless && !all_tried), "gaugeblock: ", where, " was read ", p.still,
		" times without progress: a loop waits for a value that only a GPU would have computed");
	if (state > FOR || patience() == 0 || ++p.asked < 2 || (state == FOR && (p.still < ends_soon || what == What::count))) {
		return 0;
	}
	bool must = state == FOR || what == What::integer || what == What::copy;
	if (what == What::other || (must && !decides && (used == nullptr || (used() & DECIDES) == 0))) {
		return 0;
	}
	p.patience = std::max(p.patience / 2, 1L);
	p.hold = what == What::boolean ? 0 : 2; // who compares a number with what was read before sees the same
	return ++p.turns;
}

// count notes a read; kind is DECISION or FLOAT.
inline Read count(std::string how, int kind, bool known, What what = What::other) {
	Read r;
	if (known) {
		return r;
	}
	int use = kind == FLOAT && used != nullptr ? used() : 0;
	r.not_zero = (use & NOT_ZERO) != 0;
	if ((use & DECIDES) != 0) {
		kind = DECISION;
		how += " in a condition";
	}
	char at[512] = "";
	if (line != nullptr) {
		line(at, sizeof at);
	}
	std::string where = std::string(at) + " " + how;
	{
		std::lock_guard<std::mutex> guard(lock);
		unknown[kind][where]++;
		r.place = &places[where];
	}
	r.turn = turn(*r.place, where, what, (use & DECIDES) != 0);
	if (r.turn > 0) {
		std::lock_guard<std::mutex> guard(lock);
		unknown[TURNED][where]++;
	}
	return r;
}

// answered notes what a boolean was: one that changes waits for nothing.
inline void answered(const Read &r, bool value) {
	if (r.place != nullptr && r.turn == 0 && std::exchange(r.place->last, int(value)) != int(value)) {
		r.place->since = r.place->still = r.place->asked = 0;
	}
}

} // namespace decisions
