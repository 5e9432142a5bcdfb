// Which of its candidate schedules a kernel runs by, as measured, and where that is kept.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/disk_cache.h"
#include "runtime/stopwatch.h"

namespace sinter::runtime {

struct Choice {
  int candidate = 0;  // 0: the schedule that is chosen untimed
  int of = 1;         // as many candidates as there were
  double ms = 0, untuned_ms = 0;

  /// "candidate 2 of 5: 0.131 ms, and 0.142 ms untuned"
  std::string str() const;
};

/// The fastest of `runs`, each of which starts one launch; the first is the default, and stays unless another
/// is faster by more than measurements differ. Empty functions, and those but the first that throw
/// DeviceError, are left out, and so are the last ones where all together would take more than about `budget`
/// seconds. `milliseconds`, if given, collects what each took, 0 for those left out.
Choice fastest(Stopwatch& stopwatch, std::span<const std::function<void()>> runs, double budget,
               std::vector<double>* milliseconds = nullptr);

/// Choices by the full text of what they were made for, in memory and on disk. An entry that does not read as
/// one is none. Safe to call from many threads.
class ChoiceBook {
 public:
  explicit ChoiceBook(DiskCache& disk) : disk_(disk) {}

  /// Nothing too for an entry of another number of candidates.
  std::optional<Choice> find(const std::string& key, int candidates);
  void keep(const std::string& key, const Choice& choice);

 private:
  DiskCache& disk_;
  std::mutex mutex_;
  std::unordered_map<std::string, Choice> known_;
};

/// The process's own, over the kernel cache.
ChoiceBook& choice_book();

}  // namespace sinter::runtime
