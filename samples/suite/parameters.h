// What `--set NAME=VALUE` chooses of a workload: lengths, which may be symbols, counts, and the dtype.
#pragma once

#include <sinter/sinter.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace suite {

/// Names with the texts of their values.
using Choices = std::map<std::string, std::string>;

/// A parameter of a workload and the value it has unless chosen.
struct Parameter {
  std::string name;
  std::string value;
};

/// The parameters of one workload with the values in force.
class Parameters {
 public:
  /// Takes of `choices` what the workload has. Throws sinter::ValueError for a value that is not one.
  Parameters(const std::vector<Parameter>& defaults, const Choices& choices);

  /// The length of an axis: a number, or a symbol.
  sinter::Length length(const std::string& name) const;
  /// Throws sinter::ValueError for a length that is a symbol.
  std::int64_t count(const std::string& name) const;
  sinter::DType dtype() const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace suite
