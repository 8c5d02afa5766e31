// Logs an allocator that frees twice: demo LOG
#include "gaugelog.hpp"

// Gives addresses, as cudaMalloc would, and never reuses one.
struct Bump {
  std::uintptr_t next = 0x7f0000000000;
  void* allocate(std::size_t size, void*) { return (void*)((next += 4096 * (size / 4096 + 1)) - 4096 * (size / 4096 + 1)); }
  void deallocate(void*, std::size_t, void*) {}
};

int main(int, char** arguments) {
  GaugeLog log(arguments[1]);
  log("driver allocate", (void*)0x7f0000000000, 2 << 20);
  Bump bump;
  Logged<Bump> logged{bump, log};
  void* a = logged.allocate(1000, nullptr);
  void* b = logged.allocate(5000, nullptr);
  log.write(b, nullptr);
  log.synchronize(nullptr);
  logged.deallocate(a, 1000, nullptr);
  logged.deallocate(a, 1000, nullptr);
  logged.deallocate(b, 5000, nullptr);
}
