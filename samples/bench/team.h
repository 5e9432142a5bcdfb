// Threads that wait for work, for what is timed beside the library: no thread is started while a clock runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bench {

class Team {
 public:
  explicit Team(int size);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  /// Cuts [0, count) into one range per thread, at multiples of 64 elements, and calls part(begin, end) for
  /// all of them at once. Returns when all are done.
  void run(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& part);

 private:
  void work(int number);
  void do_part(int number) const;

  std::vector<std::thread> threads_;  // the calling thread is one more
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(std::size_t, std::size_t)>* part_ = nullptr;
  std::size_t count_ = 0;
  std::uint64_t round_ = 0;
  int working_ = 0;
  bool over_ = false;
};

}  // namespace bench
