// True values of integer and boolean tensors on a fake GPU, whose kernels do not run. A fallback of
// PyTorch's dispatcher at a key that nobody uses, below autograd and above the devices: the operator
// runs on the fake device, with all of its allocations, and then once more on the host over what is
// known of its tensors. It allocates nothing on the device.
#include "expected.h"
#include "known.h"
#include "operators.h"
#include "decisions.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/library.h>

#include <dlfcn.h>
#include <atomic>
#include <functional>
#include <numeric>
#include <optional>
#include <tuple>

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using known::State;
using operators::Kind;
using operators::Operator;

namespace {

constexpr DispatchKey own_key = DispatchKey::Fake;

// What the runtime's next small copies to the host are answered with (gaugeblock_answer), for counts
// that PyTorch reads in the midst of an operator.
void (*give_answer)(const void *, size_t);
void (*drop_answers)();
thread_local bool answering;

// The operator that runs on the device, if its reads of the device are not counted elsewhere.
thread_local const Operator *running;
thread_local bool reading; // what runs is a read itself, which may read in its turn
thread_local int within;   // operators: what they copy themselves is seen with them
thread_local bool apart;   // the tensors of lists are taken one by one afterwards

// What the host does for floating-point numbers, in elements. Those of small models are known while that is little (about
// two seconds), so that loops which end by them end rightly; later only those that come of little: masks, positions.
constexpr uint64_t most_of_work = uint64_t(1) << 31, little_work = uint64_t(1) << 20, work_of_a_call = 2000;
std::atomic<uint64_t> work_done;

// While it is there, the host computes what is small with one thread: others cost more than they bring.
class OneThread {
public:
	explicit OneThread(bool small) : before(small && get != nullptr && set != nullptr ? get() : 0) {
		if (before > 1) {
			set(1);
		}
	}
	~OneThread() {
		if (before > 1) {
			set(before);
		}
	}

private:
	static inline int (*const get)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
	static inline void (*const set)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
	const int before;
};

// Memory that was written while a graph was captured, and whether one is.
std::unordered_set<uintptr_t> captured;
const int *captures;

// Whether counts of what is not known are taken to be as large as they can be.
bool most() {
	static const char *assume = std::getenv("GAUGEBLOCK_RUN_ASSUME");
	static const bool answer = assume != nullptr && std::string(assume) == "most";
	return answer;
}

template <class F> void each(const IValue &v, F f) {
	if (v.isTensor()) {
		if (v.toTensor().defined()) {
			f(v.toTensor());
		}
	} else if (v.isList()) {
		for (const IValue &x : v.toListRef()) {
			if (x.isTensor() && x.toTensor().defined()) {
				f(x.toTensor());
			}
		}
	}
}

// Keys that must not see the operators on the host.
DispatchKeySet hidden() {
	static const DispatchKeySet keys = DispatchKeySet(own_key) | c10::autograd_dispatch_keyset_with_ADInplaceOrView |
		DispatchKeySet({DispatchKey::Python, DispatchKey::PythonTLSSnapshot, DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA,
			DispatchKey::FuncTorchDynamicLayerFrontMode, DispatchKey::FuncTorchDynamicLayerBackMode, DispatchKey::FuncTorchVmapMode,
			DispatchKey::FuncTorchBatched, DispatchKey::FuncTorchGradWrapper, DispatchKey::Functionalize});
	return keys;
}

// A generator of its own: the program's generators must not advance.
at::Generator &generator() {
	static at::Generator g = at::detail::createCPUGenerator(7);
	return g;
}

// A call of an operator, before and after it has run on the device.
class Call {
public:
	Call(const c10::OperatorHandle &op, const Operator &o, torch::jit::Stack *stack)
		: op(op), o(o), stack(stack), arguments(op.schema().arguments().size()), results(op.schema().returns().size()) {
		look();
	}

	bool on_device = false; // it has to do with a GPU
	bool computable = true; // all that it needs is known, or assumed
	bool assumed = false;   // some of it is assumed
	const IValue *result = nullptr; // of the device, where it has run already

	const IValue &argument(size_t k) const { return (*stack)[stack->size() - arguments + k]; }

	void run(DispatchKeySet below) {
		args.assign(stack->end() - long(arguments), stack->end());
		to_host = o.kind == Kind::copy && args[0].toTensor().is_cpu() && args[1].toTensor().is_cuda();
		note_reads();
		for (size_t w : o.written) {
			each(args[w], [&](const at::Tensor &t) { computable = computable && (!t.is_cuda() || keeps(t)); });
		}
		if (computable && zeroes()) {
			on_the_device(below, &o);
			zero();
			return;
		}
		if (counts()) {
			run_with_counts(below);
		} else {
			if (computable && o.in_place && !o.writes_over) {
				convert(true); // before it runs: its parts may come here too
			}
			on_the_device(below, o.kind == Kind::read || to_host ? nullptr : &o);
			if (computable && wanted()) {
				if (host.empty()) {
					convert(false);
				}
				if (affords()) {
					compute();
				}
			}
		}
		assumed = rests();
		if (o.kind == Kind::read) {
			if (done) {
				stack->back() = computed[0];
			}
			go_on();
			if (read.turn > 0) {
				turn();
			}
			if (read.not_zero && stack->back().isScalar() && stack->back().toScalar().equal(0)) {
				stack->back() = IValue(at::Scalar(1.0)); // a quotient and a logarithm of it are finite, as those of the GPU
			}
		} else if (to_host) {
			if (read.turn > 0) {
				turn();
			}
		} else {
			keep();
		}
	}

private:
	const c10::OperatorHandle &op;
	const Operator &o;
	torch::jit::Stack *stack;
	size_t arguments, results;
	bool to_host = false, done = false;
	bool small = false; // all of its tensors
	State least = State::exact; // of what goes in
	uint64_t work = 0;          // likewise, and then of what comes out
	decisions::Read read;
	std::vector<IValue> args, host, computed;
	at::Tensor merged; // indices without those that were twice there

	bool counts() const { return o.kind == Kind::nonzero || o.kind == Kind::unique || o.kind == Kind::count; }

	void on_the_device(DispatchKeySet below, const Operator *as) {
		struct Back {
			const Operator *before;
			bool reads;
			~Back() {
				running = before;
				reading = reads;
			}
		} back{std::exchange(running, as), std::exchange(reading, reading || o.kind == Kind::read)};
		if (result == nullptr) {
			op.redispatchBoxed(below, stack);
			return;
		}
		torch::jit::drop(*stack, arguments);
		if (results > 0) {
			stack->push_back(*result);
		}
	}

	// affords reports whether the host is to compute it.
	bool affords() {
		if (o.kind == Kind::read || to_host) {
			return true;
		}
		std::vector<double> sizes;
		small = true;
		auto count = [&](const at::Tensor &t) {
			small = small && size_t(t.numel()) * t.itemsize() <= known::most_of_floats;
			if (!known::integral(t)) {
				sizes.push_back(double(t.numel()));
			}
		};
		for (const IValue &v : args) {
			each(v, count);
		}
		for (size_t k = stack->size() - results; k < stack->size(); k++) {
			each((*stack)[k], count);
		}
		if (sizes.empty()) {
			return true;
		}
		double elements = std::accumulate(sizes.begin(), sizes.end(), 0.0);
		if (o.product) { // of n x m and m x k: the root of the product of the three sizes is n x m x k
			std::partial_sort(sizes.begin(), sizes.begin() + std::min<long>(3, long(sizes.size())), sizes.end(), std::greater<>());
			sizes.resize(3, sizes[0]);
			elements += std::sqrt(sizes[0] * sizes[1] * sizes[2]) / 8;
		}
		work += uint64_t(elements);
		return work_done.fetch_add(uint64_t(elements) + work_of_a_call) < most_of_work || work <= little_work;
	}

	// zeroes reports whether it makes zeros of all that a storage has.
	bool zeroes() const {
		bool zero = o.name == "aten::zero_" || (o.name == "aten::fill_" && args[1].isScalar() && args[1].toScalar().equal(0));
		return zero && known::plain(args[0].toTensor()) && known::whole(args[0].toTensor()) &&
			args[0].toTensor().is_non_overlapping_and_dense();
	}

	// zero takes new memory, of which the system has nothing to write before somebody does.
	void zero() {
		std::lock_guard<std::recursive_mutex> guard(known::lock);
		const at::Tensor &t = args[0].toTensor();
		known::forget(known::base(t));
		known::make(known::base(t), known::bytes(t), State::exact);
		note_capture(t);
	}

	void note_capture(const at::Tensor &t) {
		if (captures != nullptr && *captures > 0) {
			captured.insert(known::base(t));
		}
	}

	// look sees what goes in.
	void look() {
		std::lock_guard<std::recursive_mutex> guard(known::lock);
		for (size_t k = 0; k < arguments; k++) {
			const IValue &v = argument(k);
			on_device = on_device || (v.isDevice() && v.toDevice().is_cuda());
			each(v, [&](const at::Tensor &t) { look(t, o.writes(k)); });
		}
	}

	void look(const at::Tensor &t, bool written) {
		if (!t.is_cuda()) {
			computable = computable && t.layout() == at::kStrided && !t.key_set().has(DispatchKey::Python) && !t.is_meta();
			return;
		}
		on_device = true;
		if (written && o.writes_over && known::plain(t)) {
			return;
		}
		if (!known::plain(t) || !known::kept(t)) {
			computable = false;
			return;
		}
		const known::Bytes *b = t.numel() == 0 ? nullptr : known::find(known::base(t));
		State s = t.numel() == 0 ? State::exact : b == nullptr ? State::absent : b->state;
		work = std::max(work, b == nullptr ? 0 : b->work);
		computable = computable && (s != State::absent || known::integral(t));
		assumed = assumed || s != State::exact;
		least = std::min(least, s);
	}

	// go_on takes a boolean that is not known to be that with which the program does not stop.
	void go_on() {
		bool boolean = o.name == "aten::equal" || args[0].toTensor().scalar_type() == at::kBool;
		int good = boolean && (assumed || !computable) && decisions::check != nullptr ? decisions::check() : -1;
		if (good >= 0) {
			stack->back() = stack->back().isBool() ? IValue(good == 1) : IValue(at::Scalar(good == 1));
			read.turn = 0; // the program does not stop
		}
		if (boolean) {
			decisions::answered(read, stack->back().isBool() ? stack->back().toBool() : stack->back().toScalar().toBool());
		}
	}

	void note_reads() {
		using decisions::What;
		bool known = (computable && !assumed) || reading;
		if (o.kind == Kind::read || to_host) {
			const at::Tensor &from = args[to_host ? 1 : 0].toTensor();
			bool integral = known::integral(from), boolean = o.name == "aten::equal" || from.scalar_type() == at::kBool;
			const char *how = to_host ? "copy to the host" : o.name == "aten::equal" ? "equal" : "item";
			What what = least == State::finite ? What::other : to_host ? What::copy : boolean ? What::boolean : integral ? What::integer : at::isComplexType(from.scalar_type()) ? What::other : What::number;
			read = decisions::count(how, integral ? decisions::DECISION : decisions::FLOAT, known, what);
		} else if (o.kind == Kind::nonzero || o.kind == Kind::unique) {
			read = decisions::count(o.plain_name(), decisions::DECISION, known, What::count);
		}
	}

	// turn gives what is read another value than that which is assumed: 0, 1 and others in turn.
	void turn() {
		static constexpr double others[] = {0, 1, 1e6, -1e6};
		const double other = others[(read.turn - 1) % 4];
		if (to_host) {
			c10::impl::ExcludeDispatchKeyGuard exclude(hidden());
			args[0].toTensor().fill_(known::integral(args[0].toTensor()) ? double(read.turn % 2) : other);
		} else if (stack->back().isBool() || stack->back().toScalar().isBoolean()) {
			bool as = !(stack->back().isBool() ? stack->back().toBool() : stack->back().toScalar().toBool());
			stack->back() = stack->back().isBool() ? IValue(as) : IValue(at::Scalar(as));
		} else {
			stack->back() = stack->back().toScalar().isIntegral(false) ? at::Scalar(int64_t(read.turn % 2)) : at::Scalar(other);
		}
	}

	at::Tensor converted(const at::Tensor &t, bool copied) {
		if (!t.defined() || !t.is_cuda()) {
			return t;
		}
		at::Tensor a = known::on_host(t);
		return copied ? a.clone() : a;
	}

	// convert makes the arguments those of the host.
	void convert(bool copy_written) {
		c10::impl::ExcludeDispatchKeyGuard exclude(hidden());
		std::lock_guard<std::recursive_mutex> guard(known::lock);
		for (size_t k = 0; k < arguments; k++) {
			bool copied = copy_written && o.writes(k);
			const IValue &v = args[k];
			if (v.isTensor()) {
				host.push_back(converted(v.toTensor(), copied));
			} else if (v.isTensorList()) {
				c10::List<at::Tensor> list;
				for (const at::Tensor &t : v.toTensorVector()) {
					list.push_back(converted(t, copied));
				}
				host.push_back(list);
			} else if (v.isList() && v.toList().elementType()->kind() == c10::TypeKind::OptionalType && !v.toListRef().empty()) {
				host.push_back(converted_optionals(v, copied));
			} else {
				host.push_back(other(k, v));
			}
		}
	}

	IValue converted_optionals(const IValue &v, bool copied) {
		c10::List<std::optional<at::Tensor>> list;
		for (const IValue &x : v.toListRef()) {
			if (!x.isNone() && !x.isTensor()) {
				return v;
			}
			list.push_back(x.isNone() ? std::optional<at::Tensor>() : std::optional<at::Tensor>(converted(x.toTensor(), copied)));
		}
		return list;
	}

	IValue other(size_t k, const IValue &v) {
		if (v.isDevice() && v.toDevice().is_cuda()) {
			return c10::Device(at::kCPU);
		}
		if (op.schema().arguments()[k].name() == "pin_memory") {
			return IValue();
		}
		if (int(k) == o.generator) {
			return generator();
		}
		return int(k) == o.sorted && o.kind == Kind::unique ? IValue(true) : v;
	}

	// compute runs the operator on the host, and with floating-point numbers if the host has it for those only (histc).
	// What the host cannot do stays unknown.
	void compute() {
		c10::impl::ExcludeDispatchKeyGuard exclude(hidden());
		if (!attempt(host) && o.written.empty() && o.kind == Kind::plain) {
			std::vector<IValue> widened(host);
			for (IValue &v : widened) {
				if (v.isTensor() && v.toTensor().defined() && known::integral(v.toTensor()) && v.toTensor().scalar_type() != at::kBool) {
					v = v.toTensor().to(at::kDouble);
				}
			}
			attempt(widened);
		}
	}

	bool attempt(const std::vector<IValue> &with) {
		if (!o.on_host) {
			return false;
		}
		OneThread one(small);
		try {
			torch::jit::Stack s(with.begin(), with.end());
			op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), &s);
			computed.assign(s.begin(), s.end());
			done = true;
		} catch (const std::exception &) {
		}
		return done;
	}

	// Counts that the operator reads from the device are given to it.
	void run_with_counts(DispatchKeySet below) {
		if (o.kind == Kind::count) {
			count();
		} else if (most() != (read.turn > 0) && (assumed || !computable)) {
			suppose_most();
			compute();
		} else if (computable) {
			convert(false);
			compute();
		}
		if (done && computed[0].isTensor() && give_answer != nullptr) {
			answering = true;
			answer();
		}
		struct Drop {
			~Drop() {
				answering = false;
				if (drop_answers != nullptr) {
					drop_answers();
				}
			}
		} drop;
		on_the_device(below, nullptr);
		if (merged.defined()) {
			at::Tensor indices = stack->back().toTensor()._indices();
			c10::impl::ExcludeDispatchKeyGuard exclude(hidden());
			std::lock_guard<std::recursive_mutex> guard(known::lock);
			known::make(known::base(indices), known::bytes(indices), assumed ? State::assumed : State::exact);
			known::on_host(indices).copy_(merged);
		}
	}

	// suppose_most takes a tensor of which all elements count.
	void suppose_most() {
		const at::Tensor &t = args[0].toTensor();
		assumed = computable = true;
		c10::impl::ExcludeDispatchKeyGuard exclude(hidden());
		at::Tensor all = o.kind == Kind::nonzero ? at::ones(t.sizes(), at::kBool)
			: at::arange(t.numel(), at::kLong).view(t.sizes()).to(t.scalar_type());
		host.push_back(all);
		for (size_t k = 1; k < arguments; k++) {
			host.push_back(other(k, args[k]));
		}
	}

	// count gives an operator that counts for itself what it reads: where the first of what it looks
	// for is, or how many different ones there are.
	void count() {
		if (give_answer == nullptr) {
			return;
		}
		if (o.name == "aten::mode") {
			const int64_t found[2] = {1, 0};
			give_answer(found, sizeof found);
			give_answer(found, sizeof found); // of two searches
			return;
		}
		c10::impl::ExcludeDispatchKeyGuard exclude(hidden());
		const at::Tensor t = o.name == "aten::_coalesce" ? args[0].toTensor()._indices() : args[1].toTensor();
		State s = known::plain(t) ? known::state(t) : State::absent;
		bool known = s == State::exact;
		decisions::count(o.plain_name(), decisions::DECISION, known);
		int64_t different = t.size(-1);
		if (s != State::absent && (known || !most())) {
			at::Tensor indices = known::on_host(t);
			if (o.name == "aten::_coalesce") {
				merged = std::get<0>(at::unique_dim(indices, 1));
				assumed = !known;
			}
			different = merged.defined() ? merged.size(1) : std::get<0>(at::_unique(indices)).numel();
		}
		int32_t small = int32_t(different);
		give_answer(&small, sizeof small);
		give_answer(&different, sizeof different);
	}

	void answer() {
		int64_t count = computed[0].toTensor().size(o.name == "aten::unique_dim" ? args[1].toInt() : 0);
		if (o.name == "aten::_unique2" && args[0].toTensor().scalar_type() == at::kBool) {
			count = host[0].toTensor().sum().item<int64_t>(); // it counts those that are true
		}
		int32_t small = int32_t(count);
		give_answer(&small, sizeof small);
		give_answer(&count, sizeof count);
	}

	bool wanted() const {
		bool some = o.kind == Kind::read || to_host || !o.written.empty();
		for (size_t k = stack->size() - results; k < stack->size() && !some; k++) {
			each((*stack)[k], [&](const at::Tensor &t) { some = some || t.is_cpu() || (known::plain(t) && keeps(t)); });
		}
		return some;
	}

	// keep writes down what came out.
	void keep() {
		std::vector<at::Tensor> out, news; // of the device, and of the host
		std::unordered_set<uintptr_t> inputs; // results over them are views
		if (!o.written.empty()) {
			for (size_t w : o.written) {
				each(args[w], [&](const at::Tensor &t) { out.push_back(t); });
				if (done) {
					each(host[w], [&](const at::Tensor &t) { news.push_back(t); });
				}
			}
		} else {
			for (const IValue &v : args) {
				each(v, [&](const at::Tensor &t) {
					if (known::plain(t)) {
						inputs.insert(known::base(t));
					}
				});
			}
			results_of(out, news);
		}
		bool all = done && news.size() == out.size();
		c10::impl::ExcludeDispatchKeyGuard exclude(hidden());
		std::lock_guard<std::recursive_mutex> guard(known::lock);
		for (size_t k = 0; k < out.size(); k++) {
			const at::Tensor &t = out[k];
			if (!known::plain(t) || inputs.count(known::base(t)) || t.numel() == 0) {
				continue;
			}
			if (all && keeps(t) && news[k].sizes() == t.sizes()) {
				keep(t, news[k]);
			} else {
				assume(t, int(k));
			}
		}
	}

	void results_of(std::vector<at::Tensor> &out, std::vector<at::Tensor> &news) {
		for (size_t k = 0; k < results; k++) {
			const IValue &r = (*stack)[stack->size() - results + k];
			bool there = done && k < computed.size();
			if (there && r.isTensor() && computed[k].isTensor() && r.toTensor().defined() != computed[k].toTensor().defined()) {
				continue;
			}
			each(r, [&](const at::Tensor &t) { out.push_back(t); });
			if (there) {
				each(computed[k], [&](const at::Tensor &t) { news.push_back(t); });
			}
		}
	}

	void keep(const at::Tensor &t, const at::Tensor &value) {
		note_capture(t);
		if (fits(t, value)) {
			known::take(known::base(t), known::bytes(t), resting(), value);
			note_work(t);
			return;
		}
		known::Bytes *b = known::find(known::base(t));
		State before = b == nullptr ? State::absent : b->state;
		bool all = known::whole(t) || o.written.empty();
		if (b == nullptr || b->size < known::bytes(t)) {
			if (!known::integral(t) && !known::whole(t)) {
				return;
			}
			known::make(known::base(t), known::bytes(t), State::assumed);
		}
		at::Tensor place = known::on_host(t);
		if (place.data_ptr() != value.data_ptr()) {
			place.copy_(value);
		}
		bool exact = !assumed && (all || before == State::exact || before == State::fresh);
		known::find(known::base(t))->state = exact ? State::exact : all && assumed ? resting() : State::assumed;
		note_work(t);
	}

	void note_work(const at::Tensor &t) {
		if (!known::integral(t)) {
			known::Bytes *b = known::find(known::base(t));
			b->work = std::max(b->work, work);
		}
	}

	// resting is the state of what comes out.
	State resting() const {
		bool finite = least == State::finite && o.kind != Kind::random;
		return !assumed ? State::exact : finite || asks_finite() ? State::finite : State::assumed;
	}

	// asks_finite reports whether it tells which numbers are finite, or no NaN.
	bool asks_finite() const {
		bool compares = o.name == "aten::eq" || o.name == "aten::ne";
		bool itself = compares && args.size() > 1 && args[1].isTensor() && args[0].isTensor() && args[0].toTensor().is_same(args[1].toTensor());
		return itself || o.name == "aten::isnan" || o.name == "aten::isinf" || infinite();
	}

	// infinite reports whether it compares with infinity.
	bool infinite() const {
		bool compares = o.name == "aten::eq" || o.name == "aten::ne" || o.name == "aten::lt" || o.name == "aten::le";
		return compares && args.size() > 1 && args[1].isScalar() && std::isinf(args[1].toScalar().toDouble());
	}

	// fits reports whether a result of the host can be kept as it is: it is new, nobody else has it, and its bytes lie as
	// those of the device.
	bool fits(const at::Tensor &t, const at::Tensor &value) const {
		return o.written.empty() && value.layout() == at::kStrided && value.scalar_type() == t.scalar_type() && value.strides() == t.strides() &&
			t.storage_offset() == 0 && value.storage_offset() == 0 && value.storage().nbytes() >= known::bytes(t) &&
			value.storage().use_count() == 1 && value.use_count() <= 2; // computed and news have it
	}

	// keeps reports whether the values of a result are kept.
	bool keeps(const at::Tensor &t) const {
		return known::kept(t) && !(rests() && !known::integral(t) && known::bytes(t) > known::most_of_assumed_floats);
	}

	bool rests() const { return assumed || o.kind == Kind::random; }

	// assume is for what cannot be computed. Nothing is kept of what is nowhere known, and it reads as zeros, but for
	// comparisons: a number is finite and no NaN. Experts are chosen in turn, and what is sorted is in order.
	void assume(const at::Tensor &t, int result) {
		if (!known::integral(t)) {
			if (o.name == "aten::_amp_foreach_non_finite_check_and_unscale_" && t.numel() == 1) {
				if (known::Bytes *b = known::find(known::base(t))) {
					b->state = State::finite;
				}
				return;
			}
			known::forget(known::base(t));
			return;
		}
		if (!known::kept(t)) {
			return;
		}
		std::optional<at::Tensor> value = assumption(t, result);
		if (!value) {
			if (known::whole(t)) {
				known::forget(known::base(t));
			} else if (known::find(known::base(t)) != nullptr) {
				known::find(known::base(t))->state = State::assumed;
				known::on_host(t).zero_();
			}
			return;
		}
		known::make(known::base(t), known::bytes(t), asks_finite() ? State::finite : State::assumed);
		known::on_host(t).copy_(*value);
	}

	std::optional<at::Tensor> assumption(const at::Tensor &t, int result) const {
		const bool scalar = args.size() > 1 && args[1].isScalar();
		auto along = [&](int64_t dim, int64_t choices, int64_t from) {
			return at::arange(from, from + t.numel(), at::kLong).remainder_(choices).view(t.transpose(dim, -1).sizes()).transpose(dim, -1);
		};
		// Choices are made in turn, from the middle: tokens that end a text are at the ends.
		auto in_turn = [&](int64_t dim) {
			int64_t choices = args[0].toTensor().size(dim);
			return along(t.dim() == 0 ? 0 : std::min<int64_t>(dim, t.dim() - 1), choices, choices / 2);
		};
		if (asks_finite()) {
			bool yes = infinite() ? o.name != "aten::eq" : o.name == "aten::eq";
			return at::full({}, yes, at::kBool);
		}
		if ((o.name == "aten::ge" || o.name == "aten::le") && t.dim() == 0 && scalar && args[1].toScalar().toDouble() == 0) {
			return at::ones({}, at::kBool); // as a number is read: PyTorch asks so for the least of some
		}
		if (o.name == "aten::topk" && result == 1 && t.dim() > 0) {
			return in_turn(at::maybe_wrap_dim(args[2].toInt(), t.dim()));
		}
		if ((o.name == "aten::argmax" && args[1].isInt()) || (o.name == "aten::max" && result == 1 && t.dim() > 0)) {
			return in_turn(at::maybe_wrap_dim(args[1].toInt(), args[0].toTensor().dim()));
		}
		if (o.name == "aten::multinomial" && t.dim() > 0) {
			return in_turn(t.dim() - 1);
		}
		if (o.name == "aten::sort" && result == 1 && t.dim() > 0) {
			int64_t dim = args[args.size() == 4 ? 2 : 1].toInt();
			return along(at::maybe_wrap_dim(dim, t.dim()), t.size(dim), 0);
		}
		return std::nullopt;
	}
};

// empty: new memory of integers is known to be fresh.
void run_empty(const c10::OperatorHandle &op, DispatchKeySet below, torch::jit::Stack *stack) {
	op.redispatchBoxed(below, stack);
	if (!stack->back().isTensor()) {
		return;
	}
	const at::Tensor &t = stack->back().toTensor();
	if (known::plain(t) && known::integral(t) && known::kept(t) && known::bytes(t) > 0) {
		std::lock_guard<std::recursive_mutex> guard(known::lock);
		known::make(known::base(t), known::bytes(t), State::fresh);
	}
}

// run_resized: what is known stays where a tensor's memory becomes larger, and with it another.
void run_resized(const c10::OperatorHandle &op, DispatchKeySet below, torch::jit::Stack *stack) {
	const at::Tensor t = torch::jit::last(*stack, op.schema().arguments().size())[0].toTensor();
	known::Bytes before;
	{
		std::lock_guard<std::recursive_mutex> guard(known::lock);
		if (const known::Bytes *there = known::plain(t) ? known::find(known::base(t)) : nullptr) {
			before = *there;
		}
	}
	op.redispatchBoxed(below, stack); // without the lock: it allocates
	std::lock_guard<std::recursive_mutex> guard(known::lock);
	if (before.at != nullptr && known::kept(t) && known::bytes(t) > before.size) {
		known::Bytes *now = known::make(known::base(t), known::bytes(t), before.state);
		std::memcpy(now->at, before.at, before.size);
		now->work = before.work;
	}
}

// one is what a list of n has at a place, as a list; of all else it is the same.
IValue one(const IValue &v, size_t n, size_t place) {
	if (!v.isList() || v.toListRef().size() != n) {
		return v;
	}
	c10::impl::GenericList list(v.toList().elementType());
	list.push_back(v.toListRef()[place]);
	return list;
}

// some_known reports whether something is known of one of the tensors at a place of the lists.
bool some_known(const std::vector<IValue> &args, size_t n, size_t place) {
	std::lock_guard<std::recursive_mutex> guard(known::lock);
	for (const IValue &v : args) {
		if (v.isList() && v.toListRef().size() == n && v.toListRef()[place].isTensor()) {
			const at::Tensor &t = v.toListRef()[place].toTensor();
			if (known::plain(t) && known::kept(t) && known::find(known::base(t)) != nullptr) {
				return true;
			}
		}
	}
	return false;
}

// run_many: what is done with lists of tensors is done with each of them by itself.
void run_many(const c10::OperatorHandle &op, const Operator &o, DispatchKeySet below, torch::jit::Stack *stack) {
	const std::vector<IValue> args = torch::jit::last(*stack, op.schema().arguments().size()).vec();
	struct Back {
		bool before;
		~Back() { apart = before; }
	};
	{
		Back back{std::exchange(apart, true)};
		op.redispatchBoxed(below, stack);
	}
	const size_t n = args[0].isList() ? args[0].toListRef().size() : 0;
	const IValue all = op.schema().returns().empty() ? IValue() : stack->back();
	for (size_t k = 0; k < n; k++) {
		if (!some_known(args, n, k)) {
			continue;
		}
		torch::jit::Stack single;
		for (const IValue &v : args) {
			single.push_back(one(v, n, k));
		}
		const IValue result = one(all, n, k);
		Call call(op, o, &single);
		call.result = &result;
		if (call.on_device) {
			call.run(below);
		}
	}
}

struct Within {
	Within() { within++; }
	~Within() { within--; }
};

void fallback(const c10::OperatorHandle &op, DispatchKeySet keys, torch::jit::Stack *stack) {
	Within more;
	DispatchKeySet below = keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, own_key);
	const Operator &o = operators::of(op);
	if (o.kind == Kind::skip || below.has(DispatchKey::Python) || (o.kind == Kind::read && answering) || (o.kind == Kind::plain && apart)) {
		op.redispatchBoxed(below, stack);
		return;
	}
	if (o.kind == Kind::empty) {
		run_empty(op, below, stack);
		return;
	}
	for (const IValue &v : expected::there > 0 ? torch::jit::last(*stack, op.schema().arguments().size()) : at::ArrayRef<IValue>()) {
		each(v, [](const at::Tensor &t) {
			if (known::plain(t)) {
				expected::settle(known::base(t), known::bytes(t));
			}
		});
	}
	if (o.many || o.kind == Kind::resize) {
		o.many ? run_many(op, o, below, stack) : run_resized(op, below, stack);
		return;
	}
	Call call(op, o, stack);
	if (!call.on_device) {
		op.redispatchBoxed(below, stack);
		return;
	}
	call.run(below);
}

constexpr size_t most_of_upload = 64 << 20;

// overwrite: a library that is none of PyTorch's writes to memory of which something is known.
template <class F> void overwrite(void *to, size_t bytes, bool exact, F write) {
	auto address = reinterpret_cast<uintptr_t>(to);
	expected::overwritten(address, bytes);
	std::lock_guard<std::recursive_mutex> guard(known::lock);
	auto [there, at] = known::holding(address, bytes);
	if (there == nullptr) {
		known::doubt(address);
		return;
	}
	write(there->at + at);
	bool before = bytes == there->size || there->state == State::exact || there->state == State::fresh;
	there->state = exact && before ? State::exact : State::assumed;
}

void filled(void *to, int value, size_t bytes) {
	if (within == 0) {
		overwrite(to, bytes, true, [&](char *there) { std::memset(there, value, bytes); });
	}
}

void copied(void *to, const void *from, size_t bytes) {
	if (within > 0) {
		return;
	}
	std::vector<char> room(bytes <= most_of_upload ? bytes : 0);
	int told = bytes == room.size() ? expected::question(from, bytes, room.data()) : 0;
	overwrite(to, bytes, told == 2, [&](char *there) { std::memcpy(there, room.data(), room.size()); });
}

// torch.tensor(..., device="cuda") copies without the key: its bytes are seen at the runtime's copy.
void uploaded(void *to, const void *from, size_t bytes) {
	if (within == 0 && !c10::impl::tls_is_dispatch_key_excluded(own_key)) {
		overwrite(to, bytes, true, [&](char *there) { std::memcpy(there, from, bytes); });
		return;
	}
	if (bytes == 0 || bytes > most_of_upload || !c10::impl::tls_is_dispatch_key_excluded(own_key)) {
		return;
	}
	auto address = reinterpret_cast<uintptr_t>(to);
	expected::overwritten(address, bytes);
	std::lock_guard<std::recursive_mutex> guard(known::lock);
	auto i = known::table.upper_bound(address);
	if (i != known::table.begin()) {
		--i;
		if (i->first != address && address < i->first + i->second.size) {
			return; // into the middle of something
		}
	}
	if (known::find(address) != nullptr || known::room(bytes)) {
		std::memcpy(known::make(address, bytes, State::exact)->at, from, bytes);
	}
}

// Libraries copy memory without operators: what is known of the source is known of the copy.
void transferred(void *to, const void *from, size_t bytes, int sure) {
	expected::settle(reinterpret_cast<uintptr_t>(from), bytes);
	expected::settle(reinterpret_cast<uintptr_t>(to), bytes);
	std::lock_guard<std::recursive_mutex> guard(known::lock);
	auto [source, at] = known::holding(reinterpret_cast<uintptr_t>(from), bytes);
	auto [target, place] = known::holding(reinterpret_cast<uintptr_t>(to), bytes);
	if (source == nullptr) {
		if (target != nullptr) {
			known::forget(reinterpret_cast<uintptr_t>(to) - place);
		}
		return;
	}
	if (target == nullptr && !known::room(bytes)) {
		known::forget(reinterpret_cast<uintptr_t>(to));
		return;
	}
	if (target == nullptr) {
		target = known::make(reinterpret_cast<uintptr_t>(to), bytes, State::fresh);
		place = 0;
		std::tie(source, at) = known::holding(reinterpret_cast<uintptr_t>(from), bytes);
	}
	std::memcpy(target->at + place, source->at + at, bytes);
	bool before = target->state == State::exact || target->state == State::fresh;
	target->state = sure && before && source->state == State::exact ? State::exact : State::assumed;
}

// Libraries read counts from the device in the midst of an operator: what is known is given, and what
// is not is a decision of that operator.
void downloaded(void *to, const void *from, size_t bytes) {
	if (c10::impl::tls_is_dispatch_key_excluded(own_key)) {
		return;
	}
	bool known = false;
	{
		std::lock_guard<std::recursive_mutex> guard(known::lock);
		auto [source, at] = known::holding(reinterpret_cast<uintptr_t>(from), bytes);
		if (source != nullptr && source->state != State::absent) {
			std::memcpy(to, source->at + at, bytes);
			known = source->state == State::exact;
		}
	}
	if (running != nullptr) {
		decisions::count("count of " + running->plain_name(), decisions::DECISION, known);
	}
}

// A kernel that is not PyTorch's may write where its arguments lead.
void touched(uint64_t address) { known::doubt(address); }

// The replay of a graph computes nothing here.
void replayed() {
	std::lock_guard<std::recursive_mutex> guard(known::lock);
	for (uintptr_t address : captured) {
		known::doubt(address);
	}
}

// The key is above that of Python, and before Python's part of an operation is called (a mode's, or that of a kind of
// tensor as DTensor) what is above is excluded, so that the operations in it would not come here. They do, since this
// stands between: a copy of the table of virtual functions of PyTorch's interpreter, in which dispatch is another.
// The class has no data.
struct Between {
	static constexpr size_t most = 64; // functions of the table
	void **table = functions;
	void *functions[most];
};
using Dispatch = void (*)(const void *, const c10::OperatorHandle &, torch::jit::Stack *);
Between between;
Dispatch dispatch_of_torch;

void dispatch(const void *self, const c10::OperatorHandle &op, torch::jit::Stack *stack) {
	if (c10::impl::tls_is_dispatch_key_included(own_key)) {
		c10::impl::tls_set_dispatch_key_excluded(own_key, false); // who has excluded it restores what was before
	}
	dispatch_of_torch(self, op, stack);
}

void stand_between() {
	auto interpreter = c10::impl::getGlobalPyInterpreter();
	auto member = &c10::impl::PyInterpreterVTable::dispatch;
	uintptr_t place; // of a virtual function: the offset in its table, and 1
	std::memcpy(&place, &member, sizeof place);
	std::memcpy(between.functions, *reinterpret_cast<void *const *>(interpreter->vtable_), sizeof between.functions);
	void *&slot = between.functions[(place - 1) / sizeof(void *)];
	dispatch_of_torch = reinterpret_cast<Dispatch>(slot);
	slot = reinterpret_cast<void *>(dispatch);
	interpreter->vtable_ = reinterpret_cast<c10::impl::PyInterpreterVTable *>(&between);
}

template <class F> void listen(const char *what, F *function) {
	if (auto on = reinterpret_cast<void (*)(F *)>(dlsym(RTLD_DEFAULT, what))) {
		on(function);
	}
}

} // namespace

TORCH_LIBRARY_IMPL(_, Fake, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

// What gaugeblock_values.py calls.
extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT void gaugeblock_values_start(void (*line)(char *, size_t), int (*check)(), int (*used)(), int (*loops)(const char *, long)) {
	decisions::line = line;
	decisions::check = check;
	decisions::used = used;
	decisions::loops = loops;
	give_answer = reinterpret_cast<void (*)(const void *, size_t)>(dlsym(RTLD_DEFAULT, "gaugeblock_answer"));
	drop_answers = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "gaugeblock_drop_answers"));
	captures = reinterpret_cast<const int *>(dlsym(RTLD_DEFAULT, "gaugeblock_captures"));
	listen("gaugeblock_on_upload", uploaded);
	listen("gaugeblock_on_transfer", transferred);
	listen("gaugeblock_on_question", expected::question);
	listen("gaugeblock_on_expectation", expected::add);
	listen("gaugeblock_on_download", downloaded);
	listen("gaugeblock_on_copy", copied);
	listen("gaugeblock_on_fill", filled);
	listen("gaugeblock_on_touch", touched);
	listen("gaugeblock_on_replay", replayed);
	stand_between();
}

// gaugeblock_values_enable is for the calling thread.
EXPORT void gaugeblock_values_enable(int on) { c10::impl::tls_set_dispatch_key_included(own_key, on != 0); }

// gaugeblock_values_attach makes what is freed be forgotten; CUDA must be initialized.
EXPORT void gaugeblock_values_attach() {
	decisions::allocated = [] { return c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device()).allocated_bytes[0].current; };
	c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker([](const auto &e) { // its namespace depends on the release
		using Entry = std::decay_t<decltype(e)>;
		if (e.action_ == Entry::ALLOC || e.action_ == Entry::FREE_REQUESTED) {
			expected::forget(e.addr_, e.size_);
			known::forget_range(e.addr_, e.size_);
		}
	});
}

// gaugeblock_values_unknown gives the reads of unknown values of a kind, a line each: how often, and
// where. It returns the bytes that this takes.
EXPORT size_t gaugeblock_values_unknown(int kind, char *text, size_t size) {
	std::lock_guard<std::mutex> guard(decisions::lock);
	std::string all;
	for (auto &r : decisions::unknown[kind]) {
		all += std::to_string(r.second) + " " + r.first + "\n";
	}
	if (size > 0) {
		size_t n = std::min(size - 1, all.size());
		std::memcpy(text, all.data(), n);
		text[n] = 0;
	}
	return all.size() + 1;
}
}
