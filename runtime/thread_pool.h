// The one pool of tasks that runs kernels, library loops and compilations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace sinter::runtime {

/// How many threads work on one loop: SINTER_THREADS, else the cores this process may use.
int thread_count();

/// A reference to a callable of the caller's, which outlives the loop.
class RangeFunction {
 public:
  template <class F>
  RangeFunction(const F& f)
      : object_(&f), call_([](const void* object, std::int64_t begin, std::int64_t end) {
          (*static_cast<const F*>(object))(begin, end);
        }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t, std::int64_t);
};

/// Calls f(b, e) for ranges that cover [begin, end) once, on the pool's threads and this one; every boundary
/// is a multiple of `grain` past `begin`, and which ranges come out may differ from run to run. What fits one
/// grain runs here at once. Loops may be nested; an exception from f ends the loop and comes out here.
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, RangeFunction f);

/// Working memory of the calling thread, 64-byte aligned and uninitialised. It goes back to the thread's
/// store when the object goes, so a loop nested in another has its own and steady use allocates nothing.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace sinter::runtime
