#include "ir/base/log.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <set>

#include "ir/base/settings.h"

namespace sinter {
namespace {

constexpr std::array<std::string_view, 8> topic_names{"graph",      "fusion", "source", "guards",
                                                      "recompiles", "cache",  "timing", "device"};

struct Output {
  std::mutex mutex;
  LogSink sink;
  std::set<std::string, std::less<>> warned;
};

Output& output() {
  static Output& instance = *new Output;  // destructors of static objects may still log
  return instance;
}

void write(std::string line) {
  const std::lock_guard lock(output().mutex);
  if (output().sink) {
    output().sink(line);
    return;
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

std::string_view name(Topic topic) {
  return topic_names[static_cast<std::size_t>(topic)];
}

bool log_enabled(Topic topic) {
  for (const std::string& enabled : settings().log)
    if (enabled == name(topic)) return true;
  return false;
}

void detail::write_log(Topic topic, std::string_view text) {
  write(fmt::format("sinter [{}] {}", name(topic), text));
}

void detail::write_warning(std::string_view text) {
  write(fmt::format("sinter: warning: {}", text));
}

bool detail::first_warning(std::string_view key) {
  const std::lock_guard lock(output().mutex);
  return output().warned.emplace(key).second;
}

LogSink set_log_sink(LogSink sink) {
  const std::lock_guard lock(output().mutex);
  std::swap(output().sink, sink);
  return sink;
}

void forget_warnings() {
  const std::lock_guard lock(output().mutex);
  output().warned.clear();
}

}  // namespace sinter
