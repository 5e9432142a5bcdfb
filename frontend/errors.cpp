#include "frontend/errors.h"

#include <optional>

#include "ir/base/check.h"

namespace sinter::frontend {
namespace {

thread_local std::optional<std::source_location> line_of_formula;

template <class E>
void rethrow_if(const std::exception& error, const std::source_location& where) {
  if (dynamic_cast<const E*>(&error))
    fail<E>("{}\n  at {}:{}", error.what(), where.file_name(), where.line());
}

}  // namespace

void rethrow_with(const std::source_location& where) {
  if (where.line() == 0) throw;  // the line is not known
  try {
    throw;
  } catch (const std::exception& error) {
    rethrow_if<ShapeError>(error, where);
    rethrow_if<DTypeError>(error, where);
    rethrow_if<ValueError>(error, where);
    rethrow_if<UnsupportedError>(error, where);
    throw;
  }
}

AtLine::AtLine(const std::source_location& where) : outermost_(!line_of_formula) {
  if (outermost_) line_of_formula = where;
}

AtLine::~AtLine() {
  if (outermost_) line_of_formula.reset();
}

std::source_location effective_line(const std::source_location& where) {
  return line_of_formula.value_or(where);
}

}  // namespace sinter::frontend
