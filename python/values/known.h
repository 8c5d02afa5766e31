// What is known of the bytes of device memory: by the address of a storage, a copy of it on the
// host. Integers and booleans are kept, and small floating-point tensors.
#pragma once

#include <ATen/ATen.h>

#include <cstdlib>
#include <map>
#include <mutex>

namespace known {

enum class State {
	absent,  // nothing is known; it reads as zeros
	fresh,   // allocated and never written
	assumed, // written with values that rest on something unknown
	finite,  // only on this: that numbers are finite
	exact,
};

struct Bytes {
	c10::Storage room; // on the host
	char *at = nullptr;
	size_t size = 0;
	State state = State::absent;
	uint64_t work = 0; // of the host, for the floating-point numbers that it rests on: the longest way to it
};

// What is known of floating-point numbers is masks and positions. Numbers that rest on something unknown (weights of
// small models are random) decide little, and all that is done with them would be computed.
constexpr size_t most_of_floats = size_t(1) << 20, most_of_assumed_floats = size_t(1) << 17, most_of_integers = size_t(1) << 30;
// The weights of a quantised model are integers as well, and the host need not have room for them: so much is kept in
// all, and beyond it only what is little.
constexpr size_t most_of_all = size_t(1) << 31, little = size_t(1) << 16;

// The lock is held by who touches the table; operators call each other.
inline std::recursive_mutex lock;
inline std::map<uintptr_t, Bytes> table;
inline size_t held = 0; // bytes of all that is in the table

inline auto erase(std::map<uintptr_t, Bytes>::iterator i) {
	held -= i->second.size;
	return table.erase(i);
}

inline void forget(uintptr_t address) {
	if (auto i = table.find(address); i != table.end()) {
		erase(i);
	}
}

// forget_range forgets what begins in memory that is allocated or freed.
inline void forget_range(uintptr_t address, size_t bytes) {
	std::lock_guard<std::recursive_mutex> guard(lock);
	for (auto i = table.lower_bound(address); i != table.end() && i->first < address + std::max<size_t>(bytes, 1);) {
		i = erase(i);
	}
}

inline Bytes *find(uintptr_t address) {
	auto i = table.find(address);
	return i == table.end() ? nullptr : &i->second;
}

// holding is what is known of a range of bytes, and where in it they are; nullptr if that is nothing.
inline std::pair<Bytes *, size_t> holding(uintptr_t address, size_t bytes) {
	auto i = table.upper_bound(address);
	if (i == table.begin()) {
		return {nullptr, 0};
	}
	--i;
	size_t at = address - i->first;
	return at + bytes <= i->second.size ? std::pair(&i->second, at) : std::pair<Bytes *, size_t>(nullptr, 0);
}

// doubt says that what is known of some memory may not be true any more.
inline void doubt(uintptr_t address) {
	std::lock_guard<std::recursive_mutex> guard(lock);
	if (Bytes *b = holding(address, 1).first) {
		b->state = State::assumed;
	}
}

// make gives room for the bytes of a storage; new room holds zeros.
inline Bytes *make(uintptr_t address, size_t size, State state) {
	Bytes &b = table[address];
	if (b.size != size) {
		b.at = static_cast<char *>(std::calloc(1, size + 64));
		TORCH_CHECK(b.at != nullptr, "gaugeblock: no memory for ", size, " bytes of values");
		b.room = c10::Storage(c10::Storage::use_byte_size_t(), size + 64, c10::DataPtr(b.at, b.at, std::free, at::kCPU));
		held += size - b.size;
		b.size = size;
	}
	b.state = state;
	b.work = 0;
	return &b;
}

// take makes the bytes of a storage those of a tensor of the host that nobody else has.
inline void take(uintptr_t address, size_t size, State state, const at::Tensor &value) {
	Bytes &b = table[address];
	held += size - b.size;
	b = {value.storage(), static_cast<char *>(value.data_ptr()), size, state, 0};
}

// Tensors that have their bytes in device memory, one behind another.
inline bool plain(const at::Tensor &t) {
	return t.defined() && t.is_cuda() && t.layout() == at::kStrided && !t.is_nested() && !t.key_set().has(c10::DispatchKey::Python) && t.has_storage();
}

inline uintptr_t base(const at::Tensor &t) {
	return reinterpret_cast<uintptr_t>(t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl()->data());
}

inline size_t bytes(const at::Tensor &t) { return t.unsafeGetTensorImpl()->unsafe_storage().nbytes(); }
inline bool integral(const at::Tensor &t) { return at::isIntegralType(t.scalar_type(), /*includeBool=*/true); }
inline bool whole(const at::Tensor &t) { return size_t(t.numel()) * t.itemsize() >= bytes(t); }

// room reports whether so many bytes more may be kept.
inline bool room(size_t bytes) { return bytes <= little || held + bytes <= most_of_all; }

inline bool kept(const at::Tensor &t) {
	size_t n = bytes(t);
	if (!integral(t)) {
		return at::isFloatingType(t.scalar_type()) && n <= most_of_floats;
	}
	if (n <= little) {
		return true;
	}
	std::lock_guard<std::recursive_mutex> guard(lock);
	return n <= most_of_integers && (find(base(t)) != nullptr || room(n));
}

inline State state(const at::Tensor &t) {
	if (t.numel() == 0) {
		return State::exact;
	}
	Bytes *b = find(base(t));
	return b == nullptr ? State::absent : b->state;
}

// on_host is a tensor like t on the host, over what is known of it.
inline at::Tensor on_host(const at::Tensor &t) {
	if (t.numel() == 0) {
		return at::empty_strided(t.sizes(), t.strides(), t.options().device(at::kCPU).requires_grad(false));
	}
	Bytes *b = find(base(t));
	if (b == nullptr || b->size < bytes(t)) {
		b = make(base(t), bytes(t), b == nullptr ? State::assumed : b->state);
	}
	at::Tensor a = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(b->room), c10::DispatchKeySet(c10::DispatchKey::CPU), t.dtype());
	a.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
	return a;
}

} // namespace known
