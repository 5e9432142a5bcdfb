// Reports and warnings on standard error.
//
// log() says what sinter does, topic by topic, as SINTER_LOG asks; warn_once() says what goes otherwise than
// the user may think, once per key and process. Lines are written whole, so that threads do not mix theirs.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sinter {

/// The topics of SINTER_LOG, in the order in which settings.def lists them.
enum class Topic : std::uint8_t { graph, fusion, source, guards, recompiles, cache, timing, device };

std::string_view name(Topic topic);

/// Whether SINTER_LOG names the topic; ask before building a text that is dear to build.
bool log_enabled(Topic topic);

namespace detail {
void write_log(Topic topic, std::string_view text);
void write_warning(std::string_view text);
/// True the first time it is called with `key`.
bool first_warning(std::string_view key);
}  // namespace detail

/// Writes one report, which may have several lines, if the topic is enabled.
template <class... Args>
void log(Topic topic, fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(topic)) detail::write_log(topic, fmt::format(text, std::forward<Args>(args)...));
}

/// Writes a warning unless one with the same key has been written.
template <class... Args>
void warn_once(std::string_view key, fmt::format_string<Args...> text, Args&&... args) {
  if (detail::first_warning(key)) detail::write_warning(fmt::format(text, std::forward<Args>(args)...));
}

using LogSink = std::function<void(std::string_view line)>;

/// Sends lines to `sink` instead of standard error, or back there with nullptr. Returns the sink before.
LogSink set_log_sink(LogSink sink);

/// Lets every warning be written once more; for tests.
void forget_warnings();

}  // namespace sinter
