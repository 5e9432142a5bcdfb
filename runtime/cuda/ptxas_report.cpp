#include "runtime/cuda/ptxas_report.h"

#include <cctype>
#include <charconv>

namespace sinter::runtime {
namespace {

/// The number that stands before a phrase; zero where the phrase is not there.
int number_before(std::string_view log, std::string_view phrase) {
  const std::size_t at = log.find(phrase);
  if (at == log.npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(log[begin - 1]))) --begin;
  int number = 0;
  std::from_chars(log.data() + begin, log.data() + at, number);
  return number;
}

}  // namespace

std::optional<PtxasReport> read_ptxas_report(std::string_view log) {
  if (log.find(" registers") == log.npos) return std::nullopt;
  PtxasReport report;
  report.registers = number_before(log, " registers");
  report.stack_bytes = number_before(log, " bytes stack frame");
  report.spill_bytes = number_before(log, " bytes spill stores") + number_before(log, " bytes spill loads");
  report.shared_bytes = number_before(log, " bytes smem");
  return report;
}

}  // namespace sinter::runtime
