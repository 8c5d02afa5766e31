// A caching allocator that is examined by "gaugeblock examine -- ./driver". It keeps freed
// memory by device, stream and size. Called with the argument "broken" it forgets the
// stream: then memory goes to another stream while work still uses it.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

// number reads a field of a line: "name": 123. Without it, it is 0.
static uint64_t number(const std::string &line, const std::string &name) {
	size_t at = line.find("\"" + name + "\":");
	return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at + name.size() + 3, nullptr, 10);
}

static bool has(const std::string &line, const std::string &text) { return line.find(text) != std::string::npos; }

// call makes a call of the driver: its answer is the next line.
static std::string call(const std::string &name, const std::string &fields) {
	std::cout << "{\"call\":\"" << name << "\"," << fields << "}" << std::endl;
	std::string answer;
	std::getline(std::cin, answer);
	return answer;
}

using Key = std::tuple<uint64_t, uint64_t, uint64_t>; // device, stream, size

struct Allocator {
	bool broken;
	std::map<Key, std::vector<uint64_t>> cache;

	Key key(uint64_t device, uint64_t stream, uint64_t size) {
		return {device, broken ? 0 : stream, (size + 511) / 512 * 512};
	}
	uint64_t malloc(uint64_t device, uint64_t stream, uint64_t size) {
		Key k = key(device, stream, size);
		auto &kept = cache[k];
		if (!kept.empty()) {
			uint64_t ptr = kept.back();
			kept.pop_back();
			return ptr;
		}
		std::string fields = "\"device\":" + std::to_string(device) + ",\"size\":" + std::to_string(std::get<2>(k));
		std::string answer = call("malloc", fields);
		if (has(answer, "\"error\"")) { // once more, without a cache
			empty_cache();
			answer = call("malloc", fields);
		}
		return number(answer, "ptr");
	}
	void free(uint64_t device, uint64_t stream, uint64_t size, uint64_t ptr) { cache[key(device, stream, size)].push_back(ptr); }
	void empty_cache() {
		for (auto &kept : cache) {
			for (uint64_t ptr : kept.second) {
				call("free", "\"device\":" + std::to_string(std::get<0>(kept.first)) + ",\"ptr\":" + std::to_string(ptr));
			}
		}
		cache.clear();
	}
};

int main(int argc, char **argv) {
	Allocator allocator{};
	for (std::string line; std::getline(std::cin, line);) {
		uint64_t device = number(line, "device"), stream = number(line, "stream"), size = number(line, "size"), ptr = 0;
		if (has(line, "\"do\":\"begin\"")) { // a new program: everything that was allocated is gone
			allocator = Allocator{argc > 1 && std::string(argv[1]) == "broken", {}};
			std::cout << "{\"contract\":\"joined\",\"empties\":true}" << std::endl;
			continue;
		}
		if (has(line, "\"do\":\"malloc\"")) ptr = allocator.malloc(device, stream, size);
		if (has(line, "\"do\":\"free\"")) allocator.free(device, stream, size, number(line, "ptr"));
		if (has(line, "\"do\":\"empty_cache\"")) allocator.empty_cache();
		std::cout << "{\"ptr\":" << ptr << "}" << std::endl;
	}
}
