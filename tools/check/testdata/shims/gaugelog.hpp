#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

// Writes what an allocator does, a line a call, for "gaugeblock check".
class GaugeLog {
 public:
  explicit GaugeLog(const char* path) : out_(std::fopen(path, "w")) {
    std::fputs("Thread,Time,Action,Pointer,Size,Stream\n", out_);
  }
  ~GaugeLog() { std::fclose(out_); }
  void operator()(const char* action, const void* pointer = nullptr, std::size_t size = 0, const void* stream = nullptr) {
    auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    std::lock_guard<std::mutex> guard(lock_);
    std::fprintf(out_, "%zu,%lld,%s,0x%llx,%zu,0x%llx\n", std::hash<std::thread::id>{}(std::this_thread::get_id()),
                 (long long)now, action, (unsigned long long)(std::uintptr_t)pointer, size,
                 (unsigned long long)(std::uintptr_t)stream);
  }

  // What the program gives to the device and waits for. Call these where it does so:
  // without them hazards cannot be looked for.
  void read(const void* pointer, const void* stream) { (*this)("read", pointer, 0, stream); }
  void write(const void* pointer, const void* stream) { (*this)("write", pointer, 0, stream); }
  void wait_stream(const void* stream, const void* other) { (*this)("wait", other, 0, stream); }
  void record_event(const void* event, const void* stream) { (*this)("record event", event, 0, stream); }
  void wait_event(const void* event, const void* stream) { (*this)("wait event", event, 0, stream); }
  void synchronize(const void* stream) { (*this)("synchronize", nullptr, 0, stream); }

 private:
  std::FILE* out_;
  std::mutex lock_;
};

// An allocator, logged. Around the driver calls inside it, use GaugeLog itself:
// log("driver allocate", p, n) after cudaMalloc, log("driver free", p, n) before cudaFree.
template <class Allocator>
struct Logged {
  Allocator& inner;
  GaugeLog& log;
  void* allocate(std::size_t size, void* stream) {
    void* pointer = inner.allocate(size, stream);
    log(pointer ? "allocate" : "allocate failure", pointer, size, stream);  // when it is certain
    return pointer;
  }
  void deallocate(void* pointer, std::size_t size, void* stream) {
    log("free", pointer, size, stream);  // before anyone can have it
    inner.deallocate(pointer, size, stream);
  }
};
