// sinter cache: the kernel cache on disk.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sinter/cache.h>
#include <sinter/error.h>

#include "samples/tool/output.h"
#include "samples/tool/verbs.h"

namespace tool {
namespace {

namespace cache = sinter::cache;

/// What is said of a cache that is not there; empty for one that is.
std::string missing() {
  const cache::Info info = cache::info();
  return info.directory.empty() ? "no kernels are kept on disk: " + info.reason + "\n" : "";
}

std::string describe() {
  const cache::Info info = cache::info();
  return fmt::format("directory  {}\nentries    {}\nbytes      {}\ncapacity   {}\n", info.directory,
                     info.entries, info.bytes, info.capacity);
}

std::string list() {
  std::string text;
  for (const cache::Entry& entry : cache::list())
    text += fmt::format("{:%Y-%m-%d %H:%M:%S}  {:>9}  {}  {}\n",
                        fmt::localtime(static_cast<std::time_t>(entry.last_use)), entry.bytes, entry.file,
                        entry.title);
  return text;
}

/// A damaged entry is not the tool's fault, nor does it do harm; scripts still want to hear of it.
std::string verify() {
  const cache::Verified verified = cache::verify();
  std::string text = fmt::format("{} good, {} bad\n", verified.good, verified.bad.size());
  for (const std::string& file : verified.bad) text += fmt::format("bad: {}\n", file);
  if (verified.bad.empty()) return text;
  throw sinter::ValueError(text +
                           "bad entries are never used; `sinter cache clear` removes them with all others");
}

}  // namespace

void add_cache(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("cache", "the kernel cache on disk");
  verb->require_subcommand(1);
  auto add = [verb](const std::string& name, const std::string& doc, auto text_of) {
    verb->add_subcommand(name, doc)->callback([text_of] {
      const std::string none = missing();
      print(none.empty() ? text_of() : none);
    });
  };
  add("info", "where it is, and how full", describe);
  add("list", "every entry: last use, bytes, file, what it holds", list);
  add("clear", "removes every entry", [] { return fmt::format("{} entries removed\n", cache::clear()); });
  add("verify", "compares the checksum of every entry; exits with 1 if one is bad", verify);
}

}  // namespace tool
