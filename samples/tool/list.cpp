// sinter list
#include <fmt/format.h>

#include <memory>

#include "samples/suite/workload.h"
#include "samples/tool/output.h"
#include "samples/tool/verbs.h"

namespace tool {
namespace {

std::string list(bool names_only) {
  std::string text;
  for (const suite::Workload& workload : suite::workloads()) {
    if (names_only) {
      text += workload.name + "\n";
      continue;
    }
    std::string parameters;
    for (const suite::Parameter& p : workload.parameters)
      parameters += fmt::format(" {}={}", p.name, p.value);
    text += fmt::format("{:<21} {:<55}{}\n", workload.name, workload.doc, parameters);
  }
  return text;
}

}  // namespace

void add_list(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("list", "the workloads, what they compute, and what --set changes of them");
  auto names = std::make_shared<bool>(false);
  verb->add_flag("--names", *names, "print the names alone");
  verb->callback([names] { print(list(*names)); });
}

}  // namespace tool
