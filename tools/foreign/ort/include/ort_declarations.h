// What ONNX Runtime's arena asks of the rest of ONNX Runtime.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

enum class OrtAllocatorType { OrtDeviceAllocator, OrtArenaAllocator };
enum OrtMemType { OrtMemTypeDefault };
struct OrtDevice {};
struct OrtMemoryInfo {
	const char *name = "";
	OrtAllocatorType type = OrtAllocatorType::OrtDeviceAllocator;
	OrtDevice device;
	int id = 0;
	OrtMemType mem_type = OrtMemTypeDefault;
	OrtMemoryInfo(const char *n, OrtAllocatorType t, OrtDevice d = {}, int i = 0, OrtMemType m = OrtMemTypeDefault)
		: name(n), type(t), device(d), id(i), mem_type(m) {}
};

namespace onnxruntime {

struct OnnxRuntimeException : std::runtime_error {
	using runtime_error::runtime_error;
};

template <class... T> std::string text_of(const T &...parts) {
	std::ostringstream s;
	(void)std::initializer_list<int>{(s << parts, 0)...};
	return s.str();
}

// Status is good, or an error's text.
class Status {
	std::string text;
	bool ok = true;

public:
	static Status OK() { return {}; }
	static Status Error(const std::string &text) {
		Status s;
		s.text = text;
		s.ok = false;
		return s;
	}
	bool IsOK() const { return ok; }
	const std::string &ErrorMessage() const { return text; }
};

struct Discard {
	template <class T> const Discard &operator<<(const T &) const { return *this; }
};

using OrtMutex = std::mutex;

// SafeInt throws when a product is too large.
template <class T> class SafeInt {
	T value = 0;

public:
	SafeInt() = default;
	SafeInt(T v) : value(v) {}
	operator T() const { return value; }
	SafeInt &operator*=(T factor) {
		T product;
		if (__builtin_mul_overflow(value, factor, &product)) throw OnnxRuntimeException("Integer overflow");
		value = product;
		return *this;
	}
};

using FencePtr = std::shared_ptr<void>;
class SessionState;
enum class ArenaExtendStrategy : int32_t { kNextPowerOfTwo, kSameAsRequested };

class IAllocator {
	OrtMemoryInfo info;

public:
	explicit IAllocator(const OrtMemoryInfo &i) : info(i) {}
	virtual ~IAllocator() = default;
	virtual void *Alloc(size_t size) = 0;
	virtual void Free(void *p) = 0;
	const OrtMemoryInfo &Info() const { return info; }
	virtual FencePtr CreateFence(const SessionState *) { return nullptr; }
};

} // namespace onnxruntime

#define LOGS_DEFAULT(severity) ::onnxruntime::Discard()
#define ORT_THROW(...) throw ::onnxruntime::OnnxRuntimeException(::onnxruntime::text_of(__VA_ARGS__))
#define ORT_ENFORCE(condition, ...) \
	do { \
		if (!(condition)) ORT_THROW(#condition, " is false ", ##__VA_ARGS__); \
	} while (0)
#define ORT_MAKE_STATUS(category, code, ...) ::onnxruntime::Status::Error(::onnxruntime::text_of(__VA_ARGS__))
#define ORT_TRY try
#define ORT_CATCH(x) catch (x)
#define ORT_RETHROW throw
#define ORT_HANDLE_EXCEPTION(f) f()
#define ORT_DISALLOW_ASSIGNMENT(T) T &operator=(const T &) = delete
#define ORT_DISALLOW_COPY_ASSIGNMENT_AND_MOVE(T) \
	T(const T &) = delete; \
	T(T &&) = delete; \
	T &operator=(const T &) = delete; \
	T &operator=(T &&) = delete
