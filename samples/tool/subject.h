// WHAT: a workload's name or a file with the text form of a graph, and the options that every verb which
// takes it has.
#pragma once

#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "samples/suite/workload.h"

namespace tool {

struct SubjectOptions {
  std::vector<std::string> set;
  std::string numerics;
  bool json = false;

  void add_to(CLI::App& verb);
  /// What --set says. Throws sinter::ValueError for a text that is not NAME=VALUE.
  suite::Choices choices() const;
  std::optional<sinter::Numerics> chosen_numerics() const;
};

/// For the verbs that look and run nothing.
struct TargetOptions {
  std::string target, arch;

  void add_to(CLI::App& verb);
  /// The target asked for; else the default device. Throws sinter::ValueError where the two contradict.
  sinter::Target chosen() const;
};

/// A function to look at or to run.
struct Subject {
  std::string name;
  sinter::GraphFunction function;
  std::vector<suite::Draw> draws = {};  // one per input
  suite::Choices choices = {};          // what --set says, as far as it means something here
  suite::ByHand by_hand = nullptr;
  decltype(suite::Workload::bytes) bytes = nullptr;
};

using Lengths = std::map<std::string, std::int64_t>;

/// A function of which some lengths may be open still.
class What {
 public:
  /// Throws sinter::ValueError for a name that is neither a workload's nor a file's, and for a file that does
  /// not parse.
  What(std::string name, suite::Choices choices);

  const std::string& name() const { return name_; }
  /// Names, kinds and shapes of the inputs; lengths that are not chosen are symbols.
  std::vector<sinter::GraphInput> inputs() const;
  /// The function with its lengths: those chosen, else those given here, else a workload's defaults. A length
  /// without any stays a symbol.
  Subject settle(const Lengths& given = {}) const;
  /// Whether --set NAME means something here.
  bool has(const std::string& name) const;
  /// The names that --set takes here, for messages.
  std::string settable() const;

 private:
  std::vector<std::string> symbols() const;

  std::string name_;
  suite::Choices choices_;
  const suite::Workload* workload_ = nullptr;
  std::optional<sinter::GraphFunction> from_file_;
};

/// One per name. Throws sinter::ValueError for a --set that means nothing to any of them.
std::vector<What> open_all(const std::vector<std::string>& names, const suite::Choices& choices);
/// The function of that name, its lengths settled.
Subject open_one(const std::string& name, const suite::Choices& choices);

/// The symbols' values, from the shapes of tensors given for some inputs. Shapes that do not fit are left for
/// the function to refuse.
Lengths lengths_from(const std::vector<sinter::GraphInput>& inputs,
                     const std::map<std::string, sinter::Tensor>& given);

}  // namespace tool
