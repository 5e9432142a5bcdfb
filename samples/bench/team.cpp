#include "samples/bench/team.h"

#include <algorithm>

namespace bench {

Team::Team(int size) {
  for (int number = 1; number < size; ++number) threads_.emplace_back([this, number] { work(number); });
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(std::size_t count, const std::function<void(std::size_t, std::size_t)>& part) {
  {
    const std::lock_guard lock(mutex_);
    part_ = &part;
    count_ = count;
    working_ = static_cast<int>(threads_.size());
    ++round_;
  }
  start_.notify_all();
  do_part(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return working_ == 0; });
}

void Team::work(int number) {
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return over_ || round_ != seen; });
      if (over_) return;
      seen = round_;
    }
    do_part(number);
    const std::lock_guard lock(mutex_);
    if (--working_ == 0) done_.notify_one();
  }
}

void Team::do_part(int number) const {
  const auto parts = static_cast<std::size_t>(size()), i = static_cast<std::size_t>(number);
  const std::size_t length = (count_ / parts + 63) / 64 * 64;
  const std::size_t begin = std::min(count_, i * length);
  const std::size_t end = i + 1 == parts ? count_ : std::min(count_, begin + length);
  if (begin < end) (*part_)(begin, end);
}

}  // namespace bench
