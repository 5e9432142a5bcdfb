#include "runtime/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "ir/base/log.h"
#include "runtime/kernel_cache.h"
#include "sinter/error.h"

namespace sinter::runtime {
namespace {

struct Contender {
  int candidate;
  std::vector<double> seconds{};

  double median() const {
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

/// Those that run, after a run each that does not count: kernels are brought to the device by their first
/// launch. As many as there is time for.
std::vector<Contender> contenders(Stopwatch& stopwatch, std::span<const std::function<void()>> runs,
                                  double budget, int rounds) {
  std::vector<Contender> found;
  const double untuned = stopwatch.time(runs[0]);
  const auto most = static_cast<std::size_t>(std::min(budget / (untuned * (1 + rounds)), 1e3));
  found.push_back({0});
  for (std::size_t i = 1; i < runs.size() && found.size() < most; ++i) {
    if (!runs[i]) continue;
    try {
      stopwatch.time(runs[i]);
      found.push_back({static_cast<int>(i)});
    } catch (const DeviceError& error) {
      log(Topic::timing, "candidate {} does not run: {}", i, error.what());
    }
  }
  return found;
}

}  // namespace

std::string Choice::str() const {
  if (untuned_ms == 0) return fmt::format("none of {} candidates: it takes too long to be timed", of);
  return fmt::format("candidate {} of {}: {:.4g} ms, and {:.4g} ms untuned", candidate, of, ms, untuned_ms);
}

Choice fastest(Stopwatch& stopwatch, std::span<const std::function<void()>> runs, double budget,
               std::vector<double>* milliseconds) {
  constexpr int least_rounds = 3, most_rounds = 15;
  constexpr double far = 1.5, behind = 1.1;               // times the fastest, after one round, after some
  constexpr double noise = 0.02, noise_seconds = 0.3e-6;  // what a candidate has to be better by
  const double begin = stopwatch.now();
  std::vector<Contender> all = contenders(stopwatch, runs, budget, least_rounds);
  for (int round = 1; round <= most_rounds && all.size() > 1; ++round) {
    const double since = stopwatch.now();
    for (Contender& c : all) c.seconds.push_back(stopwatch.time(runs[static_cast<std::size_t>(c.candidate)]));
    const double best = std::ranges::min_element(all, {}, &Contender::median)->median();
    if (milliseconds) {
      milliseconds->resize(runs.size());
      for (const Contender& c : all)
        (*milliseconds)[static_cast<std::size_t>(c.candidate)] = c.median() * 1e3;
    }
    const double most = best * (round < least_rounds ? far : behind);
    std::erase_if(all, [&](const Contender& c) { return c.candidate != 0 && c.median() > most; });
    const double now = stopwatch.now();
    if (round >= least_rounds && now + (now - since) > begin + budget) break;
    // In the opposite order, so that how warm the device is favours none.
    std::ranges::reverse(all);
  }
  const Contender& untuned = *std::ranges::find(all, 0, &Contender::candidate);
  if (untuned.seconds.empty()) return {0, static_cast<int>(runs.size())};
  const Contender& best = *std::ranges::min_element(all, {}, &Contender::median);
  const bool pays = best.median() < untuned.median() * (1 - noise) - noise_seconds;
  const Contender& chosen = pays ? best : untuned;
  return {chosen.candidate, static_cast<int>(runs.size()), chosen.median() * 1e3, untuned.median() * 1e3};
}

std::optional<Choice> ChoiceBook::find(const std::string& key, int candidates) {
  const std::lock_guard lock(mutex_);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  const std::optional<std::string> text = disk_.load(key);
  if (!text) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const auto number = [&](const char* name) {
    const bool there = json.is_object() && json.contains(name) && json[name].is_number();
    return there ? json[name].get<double>() : -1.0;
  };
  const double candidate = number("candidate"), of = number("of");
  if (!(candidate >= 0 && candidate < candidates) || candidate != std::floor(candidate) || of != candidates ||
      number("ms") < 0 || number("untuned_ms") < 0) {
    log(Topic::cache, "a choice in the cache does not read as one, and is made anew");
    return std::nullopt;
  }
  const Choice choice{static_cast<int>(candidate), candidates, number("ms"), number("untuned_ms")};
  known_.emplace(key, choice);
  return choice;
}

void ChoiceBook::keep(const std::string& key, const Choice& choice) {
  const nlohmann::json json = {{"candidate", choice.candidate},
                               {"of", choice.of},
                               {"ms", choice.ms},
                               {"untuned_ms", choice.untuned_ms}};
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(key, choice);
  disk_.store(key, json.dump());
}

ChoiceBook& choice_book() {
  static ChoiceBook& book = *new ChoiceBook(kernel_cache().disk());
  return book;
}

}  // namespace sinter::runtime
