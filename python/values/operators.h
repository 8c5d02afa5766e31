// What an operator is to the values: found once, by its schema.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace operators {

enum class Kind {
	plain,
	skip,    // its values are none, or its parts come here by themselves
	empty,   // gives memory that nobody has written
	resize,
	nonzero, // reads a count from the device
	unique,  // the same
	count,   // the same, of something else
	read,    // gives a value to the host
	copy,
	random,
};

struct Operator {
	Kind kind = Kind::plain;
	bool writes_over = false;  // what it writes does not depend on what was there
	bool in_place = false;
	bool many = false;         // of lists of tensors, one beside another
	bool product = false;      // a result's elements have a sum each
	bool on_host = true;       // the host has it
	std::vector<size_t> written; // which arguments
	int generator = -1, sorted = -1; // arguments of that name
	std::string name;

	std::string plain_name() const { return name.substr(name.find("::") + 2); }
	bool writes(size_t argument) const { return std::find(written.begin(), written.end(), argument) != written.end(); }
};

using Names = std::unordered_set<std::string>;

inline bool begins(const std::string &s, const char *with) { return s.rfind(with, 0) == 0; }

inline Kind kind_of(const c10::OperatorHandle &op, const std::string &space, const std::string &name, bool view, const Operator &o) {
	static const Names spaces = {"c10d", "_c10d_functional", "prim", "profiler", "inductor"};
	static const Names skipped = {"record_stream", "set_", "is_pinned", "_pin_memory", "resize_as_", "_has_compatible_shallow_copy_type", "_assert_async", "_fused_sdp_choice"};
	static const Names unique = {"_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"};
	static const Names counted = {"_coalesce", "mode", "embedding_renorm_"};
	static const Names random = {"random_", "randperm", "bernoulli_", "uniform_", "normal_", "multinomial", "exponential_", "native_dropout"};
	if (name == "copy_" || name == "resize_") {
		return name == "copy_" ? Kind::copy : Kind::resize;
	}
	if (spaces.count(space) || skipped.count(name) || (view && o.written.empty())) {
		return Kind::skip;
	}
	if (!op.hasKernelForDispatchKey(c10::DispatchKey::CUDA) && name != "_coalesce") {
		return Kind::skip; // its parts come here
	}
	if (begins(name, "empty") || name == "new_empty" || name == "new_empty_strided") {
		return Kind::empty;
	}
	if (name == "_local_scalar_dense" || name == "equal") {
		return Kind::read;
	}
	return name == "nonzero" ? Kind::nonzero : counted.count(name) ? Kind::count : unique.count(name) ? Kind::unique : random.count(name) ? Kind::random : Kind::plain;
}

inline Operator describe(const c10::OperatorHandle &op) {
	static const Names over = {"fill_", "zero_", "copy_", "random_", "uniform_", "normal_", "bernoulli_", "exponential_"};
	Operator o;
	o.name = op.schema().name();
	size_t colons = o.name.find("::");
	std::string space = o.name.substr(0, colons), name = o.name.substr(colons + 2);
	bool view = false, out = false;
	size_t k = 0;
	for (auto &argument : op.schema().arguments()) {
		if (argument.alias_info() != nullptr) {
			bool write = argument.alias_info()->isWrite();
			view = view || !write;
			if (write) {
				o.written.push_back(k);
				(argument.kwarg_only() ? out : o.in_place) = true;
			}
		}
		if (argument.name() == "generator") {
			o.generator = int(k);
		}
		if (argument.name() == "sorted") {
			o.sorted = int(k);
		}
		k++;
	}
	static const Names products = {"mm", "addmm", "bmm", "baddbmm", "addbmm", "_cdist_forward", "_addmm_activation"};
	o.many = begins(name, "_foreach") || (begins(name, "_fused") && o.in_place);
	o.product = products.count(name) || begins(name, "linalg_") || begins(name, "_linalg_");
	o.on_host = op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU);
	o.writes_over = out || over.count(name);
	o.kind = kind_of(op, space, name, view, o);
	return o;
}

// of finds an operator; each thread remembers those that it has asked for.
inline const Operator &of(const c10::OperatorHandle &op) {
	static std::mutex lock;
	static std::unordered_map<const c10::FunctionSchema *, Operator> all;
	static thread_local std::unordered_map<const c10::FunctionSchema *, const Operator *> mine;
	auto *key = &op.schema();
	if (auto found = mine.find(key); found != mine.end()) {
		return *found->second;
	}
	std::lock_guard<std::mutex> guard(lock);
	auto found = all.find(key);
	if (found == all.end()) {
		found = all.emplace(key, describe(op)).first;
	}
	mine[key] = &found->second;
	return found->second;
}

} // namespace operators
