// Memory that will have what other processes say: it is asked for when somebody reads it.
#pragma once

#include "known.h"

#include <atomic>
#include <vector>

namespace expected {

// What is there is written into the room and told as State is (0 absent, 1 assumed, 2 exact); without room,
// nobody wants to know. It is called once.
using Settle = int (*)(void *data, void *room);

struct Bytes {
	size_t size;
	Settle settle;
	void *data;
};

inline std::map<uintptr_t, Bytes> table; // under known::lock; the ranges do not overlap
inline std::atomic<size_t> there;

// take takes what is expected in a range out of the table.
inline std::vector<std::pair<uintptr_t, Bytes>> take(uintptr_t address, size_t bytes) {
	std::lock_guard<std::recursive_mutex> guard(known::lock);
	std::vector<std::pair<uintptr_t, Bytes>> taken;
	auto i = table.upper_bound(address);
	if (i != table.begin() && std::prev(i)->first + std::prev(i)->second.size > address) {
		--i;
	}
	while (i != table.end() && i->first < address + std::max<size_t>(bytes, 1)) {
		taken.push_back(*i);
		i = table.erase(i);
	}
	there = table.size();
	return taken;
}

// forget: the memory gets something else.
inline void forget(uintptr_t address, size_t bytes) {
	if (there > 0) {
		for (auto &e : take(address, bytes)) {
			e.second.settle(e.second.data, nullptr);
		}
	}
}

// keep writes down what has come.
inline void keep(uintptr_t address, const std::vector<char> &room, int told) {
	std::lock_guard<std::recursive_mutex> guard(known::lock);
	auto [target, place] = known::holding(address, room.size());
	if (told == 0) {
		if (target != nullptr) {
			target->state = known::State::assumed;
		}
		return;
	}
	bool whole = target == nullptr || target->size == room.size();
	if (target == nullptr) {
		target = known::make(address, room.size(), known::State::fresh);
		place = 0;
	}
	std::memcpy(target->at + place, room.data(), room.size());
	bool before = whole || target->state == known::State::exact || target->state == known::State::fresh;
	target->state = told == 2 && before ? known::State::exact : known::State::assumed;
}

// settle waits for what is expected in a range. The lock must be free: others may have to go on.
inline void settle(uintptr_t address, size_t bytes) {
	if (there == 0) {
		return;
	}
	for (auto &e : take(address, bytes)) {
		std::vector<char> room(e.second.size);
		int told = e.second.settle(e.second.data, room.data());
		keep(e.first, room, told);
	}
}

// overwritten: memory gets something else. What is expected of a part of a larger range has to come first.
inline void overwritten(uintptr_t address, size_t bytes) {
	if (there == 0) {
		return;
	}
	for (auto &e : take(address, bytes)) {
		bool inside = e.first >= address && e.first + e.second.size <= address + bytes;
		std::vector<char> room(inside ? 0 : e.second.size);
		int told = e.second.settle(e.second.data, inside ? nullptr : room.data());
		if (!inside) {
			keep(e.first, room, told);
		}
	}
}

inline void add(void *to, size_t bytes, Settle how, void *data) {
	auto address = reinterpret_cast<uintptr_t>(to);
	overwritten(address, bytes);
	std::lock_guard<std::recursive_mutex> guard(known::lock);
	table[address] = {bytes, how, data};
	there = table.size();
}

// question is what others ask: what is known of memory.
inline int question(const void *from, size_t bytes, void *room) {
	auto address = reinterpret_cast<uintptr_t>(from);
	settle(address, bytes);
	std::lock_guard<std::recursive_mutex> guard(known::lock);
	auto [source, at] = known::holding(address, bytes);
	if (source == nullptr || source->state == known::State::absent) {
		return 0;
	}
	std::memcpy(room, source->at + at, bytes);
	return source->state == known::State::exact ? 2 : 1;
}

} // namespace expected
