// The user's line in errors.
#pragma once

#include <exception>
#include <source_location>

namespace sinter::frontend {

/// Throws the error being handled again, one of ours with the user's line added to its message.
[[noreturn]] void rethrow_with(const std::source_location& where);

/// Runs `f` and adds the user's line to the errors it throws.
template <class F>
decltype(auto) with_location(const std::source_location& where, F&& f) {
  try {
    return f();
  } catch (const std::exception&) {
    rethrow_with(where);
  }
}

/// While it lives, operations of this thread are noted as written at `where`: a formula of composites.h
/// stands where its user called it. The outermost one counts.
class AtLine {
 public:
  explicit AtLine(const std::source_location& where);
  ~AtLine();
  AtLine(const AtLine&) = delete;
  AtLine& operator=(const AtLine&) = delete;

 private:
  bool outermost_;
};

/// The line to note for an operation written at `where`.
std::source_location effective_line(const std::source_location& where);

}  // namespace sinter::frontend
