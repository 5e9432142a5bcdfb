#include "sinter/compile.h"

#include <fmt/ranges.h>

#include <future>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "frontend/build.h"
#include "frontend/built_program.h"
#include "frontend/signature.h"
#include "frontend/target.h"
#include "ir/base/check.h"
#include "ir/base/log.h"
#include "ir/base/settings.h"
#include "sinter/file.h"

namespace sinter::frontend {
namespace {

using BuiltPointer = std::shared_ptr<const BuiltProgram>;

Numerics chosen_numerics(const CompileOptions& options) {
  return options.numerics.value_or(numerics_from_name(settings().numerics).value_or(Numerics::standard));
}

/// Lines of `now` that `before` does not have: what made the new program necessary.
std::string changed_lines(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < now.size(); ++i)
    if (i >= before.size())
      changed.push_back(now[i]);
    else if (before[i] != now[i])
      changed.push_back(fmt::format("{}, was {}", now[i], before[i].substr(before[i].find(": ") + 2)));
  return fmt::format("{}", fmt::join(changed, "; "));
}

/// Counts how deep calls of compiled functions are nested on this thread while they are captured. One that
/// calls itself without end would end the process when the stack is used up.
class Depth {
 public:
  explicit Depth(const std::string& name) {
    if (depth_ == most)
      fail<UnsupportedError>(
          "{}: compiled functions call each other {} deep while they are captured; does one call itself "
          "without an end? What ends it must be known at capture: a number, a dtype or a shape, not an "
          "element",
          name, most);
    ++depth_;
  }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  ~Depth() { --depth_; }

 private:
  static constexpr int most = 256;
  static inline thread_local int depth_ = 0;
};

}  // namespace

struct CompiledCore::Impl {
  explicit Impl(CompileOptions options) : options(std::move(options)) {}

  BuiltPointer find(const Signature& signature) const;
  BuiltPointer find_or_build(const Signature& signature, const Body& body,
                             std::span<const Argument> arguments);
  BuiltPointer build(const Signature& signature, const Body& body, std::span<const Argument> arguments);
  Captured capture_alone(const Body& body, std::span<const Argument> arguments);
  void log_recompile(const Signature& signature, const std::vector<std::string>& words) const;

  const CompileOptions options;
  mutable std::shared_mutex mutex;
  // Programs by signature; more than one where Vars held tensors of several kinds. In the order of their
  // making.
  std::unordered_map<Signature, std::vector<BuiltPointer>, Signature::Hash> programs;
  std::vector<BuiltPointer> all;
  std::vector<std::string> last_words;  // of the signature of the last program
  // Signatures whose program is being built, so that other threads wait for it and get its exception.
  std::unordered_map<Signature, std::shared_future<void>, Signature::Hash> in_work;
  std::recursive_mutex capturing;  // the callable runs in one thread at a time, and may lower itself
};

BuiltPointer CompiledCore::Impl::find(const Signature& signature) const {
  const auto found = programs.find(signature);
  if (found == programs.end()) return nullptr;
  for (const BuiltPointer& built : found->second)
    if (built->vars_fit()) return built;
  return nullptr;
}

BuiltPointer CompiledCore::Impl::find_or_build(const Signature& signature, const Body& body,
                                               std::span<const Argument> arguments) {
  {
    const std::shared_lock lock(mutex);
    if (BuiltPointer built = find(signature)) return built;
  }
  std::unique_lock lock(mutex);
  for (;;) {
    if (BuiltPointer built = find(signature)) return built;
    const auto work = in_work.find(signature);
    if (work == in_work.end()) break;
    const std::shared_future<void> done = work->second;
    lock.unlock();
    done.get();  // throws what the building thread threw
    lock.lock();
  }
  std::promise<void> promise;
  in_work.emplace(signature, promise.get_future().share());
  lock.unlock();
  try {
    const BuiltPointer built = build(signature, body, arguments);
    lock.lock();
    in_work.erase(signature);
    lock.unlock();
    promise.set_value();
    return built;
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    in_work.erase(signature);
    lock.unlock();
    promise.set_exception(std::current_exception());
    throw;
  }
}

BuiltPointer CompiledCore::Impl::build(const Signature& signature, const Body& body,
                                       std::span<const Argument> arguments) {
  const std::vector<std::string> words = describe_signature(arguments);
  log_recompile(signature, words);
  log(Topic::guards, "{}: made for\n  {}", options.name, fmt::join(words, "\n  "));
  auto built = std::make_shared<const BuiltProgram>(capture_alone(body, arguments), arguments,
                                                    chosen_numerics(options));
  const std::unique_lock lock(mutex);
  programs[signature.kept()].push_back(built);
  all.push_back(built);
  last_words = words;
  return built;
}

Captured CompiledCore::Impl::capture_alone(const Body& body, std::span<const Argument> arguments) {
  const std::lock_guard lock(capturing);
  const Depth depth(options.name);
  return frontend::capture(options.name, body, arguments);
}

void CompiledCore::Impl::log_recompile(const Signature& signature,
                                       const std::vector<std::string>& words) const {
  if (!log_enabled(Topic::recompiles)) return;
  const std::shared_lock lock(mutex);
  if (all.empty()) return;
  const auto same = programs.find(signature);
  const std::string reason =
      same != programs.end() ? same->second.back()->changed_var() : changed_lines(last_words, words);
  log(Topic::recompiles, "{}: program {} is made because {}", options.name, all.size() + 1, reason);
}

CompiledCore::CompiledCore(CompileOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
CompiledCore::~CompiledCore() = default;

std::vector<Tensor> CompiledCore::call(const Body& body, std::span<const Argument> arguments) {
  if (current_capture()) {  // it becomes part of the function being captured
    const Depth depth(impl_->options.name);
    return body(arguments);
  }
  const BuiltPointer built = impl_->find_or_build(Signature(arguments), body, arguments);
  if (settings().check) built->check_same(impl_->options.name, impl_->capture_alone(body, arguments));
  return built->run(arguments);
}

Program CompiledCore::lower(const Body& body, std::span<const Argument> arguments, const Target& target) {
  runtime::ProgramOptions options;
  options.numerics = chosen_numerics(impl_->options);
  options.target = parse_target(target);
  return Program(frontend::build(impl_->capture_alone(body, arguments).graph, std::move(options)));
}

std::vector<Program> CompiledCore::programs() const {
  const std::shared_lock lock(impl_->mutex);
  std::vector<Program> programs;
  for (const BuiltPointer& built : impl_->all) programs.emplace_back(built->program());
  return programs;
}

namespace {

/// The programs, of which there must be one.
std::vector<Program> made(const CompiledCore& core, const std::string& name) {
  std::vector<Program> programs = core.programs();
  if (programs.empty())
    fail<ValueError>(
        "{} has no programs yet: call it, or look at lower(TensorSpec{{...}}) without calling it", name);
  return programs;
}

/// One text after the other, each under a line that numbers it where there are several.
template <class TextOf>
std::string joined(const std::vector<Program>& programs, std::string_view comment, const TextOf& text_of) {
  if (programs.size() == 1) return text_of(programs[0]);
  std::string text;
  for (std::size_t i = 0; i < programs.size(); ++i)
    text += fmt::format("{}program {} of {}\n{}\n", comment, i + 1, programs.size(), text_of(programs[i]));
  return text;
}

}  // namespace

std::string CompiledCore::explain() const {
  return joined(made(*this, impl_->options.name), "", [](const Program& p) { return p.explain(); });
}

std::string CompiledCore::source() const {
  return joined(made(*this, impl_->options.name), "// ", [](const Program& p) { return p.source(); });
}

std::string CompiledCore::json() const {
  std::vector<std::string> each;
  for (const Program& program : made(*this, impl_->options.name)) each.push_back(program.json());
  return fmt::format("[{}]", fmt::join(each, ",\n"));
}

void CompiledCore::write_dot(const std::string& path, Stage stage) const {
  const auto programs = made(*this, impl_->options.name);
  write_file(path, joined(programs, "// ", [&](const Program& p) { return p.dot(stage); }), "the DOT file");
}

}  // namespace sinter::frontend
