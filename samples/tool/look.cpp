// sinter dot, explain, source, compile: looking at what a function becomes, without running it.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "samples/tool/output.h"
#include "samples/tool/subject.h"
#include "samples/tool/verbs.h"

namespace tool {
namespace {

using Json = nlohmann::ordered_json;

struct LookOptions {
  std::string what;
  SubjectOptions subject;
  TargetOptions target;
  std::string stage = "fused", file;  // of dot
  bool ptx = false;                   // of source

  sinter::Program program() const {
    return open_one(what, subject.choices()).function.lower(target.chosen(), subject.chosen_numerics());
  }
};

using Options = std::shared_ptr<LookOptions>;

CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& doc, const Options& options) {
  CLI::App* verb = app.add_subcommand(name, doc);
  verb->add_option("WHAT", options->what, "a workload, or a file with a graph")->required();
  options->subject.add_to(*verb);
  options->target.add_to(*verb);
  return verb;
}

void dot(const LookOptions& options) {
  const sinter::Stage stage = options.stage == "captured"    ? sinter::Stage::captured
                              : options.stage == "optimized" ? sinter::Stage::optimized
                                                             : sinter::Stage::fused;
  std::string text = options.program().dot(stage);
  if (options.subject.json) text = Json{{"stage", options.stage}, {"dot", text}}.dump(2) + "\n";
  if (options.file.empty())
    print(text);
  else
    sinter::write_file(options.file, text, "the DOT file");
}

void explain(const LookOptions& options) {
  const sinter::Program program = options.program();
  print(options.subject.json ? program.json() + "\n" : program.explain());
}

void source(const LookOptions& options) {
  const sinter::Target target = options.target.chosen();
  if (options.ptx && target.name == "cpu")
    throw sinter::ValueError("--ptx: CPU kernels have none; add --target cuda");
  const sinter::Program program = options.program();
  const std::string text = options.ptx ? program.ptx() : program.source();
  const char* const key = options.ptx ? "ptx" : "source";
  print(options.subject.json ? Json{{"target", target.name}, {key, text}}.dump(2) + "\n" : text);
}

void compile(LookOptions options) {
  if (options.target.target == "cpu")
    throw sinter::ValueError(
        "compile: shows what NVRTC makes of CUDA kernels; `sinter source --target cpu` prints the CPU "
        "kernels, "
        "`sinter bench` times them");
  options.target.target = "cuda";
  const sinter::Program program = options.program();
  print(options.subject.json ? program.compile_json() + "\n" : program.compile_report());
}

}  // namespace

void add_looking_verbs(CLI::App& app) {
  const auto options = std::make_shared<LookOptions>();
  CLI::App* verb = add_verb(app, "dot", "the graph in Graphviz's language", options);
  verb->add_option("--stage", options->stage, "captured, optimized or fused (the default)")
      ->check(CLI::IsMember({"captured", "optimized", "fused"}));
  verb->add_option("-o,--output", options->file, "file to write; else standard output");
  verb->callback([options] { dot(*options); });

  add_verb(app, "explain", "kernels, schedules, launches, bytes, and the reason for each boundary", options)
      ->callback([options] { explain(*options); });

  verb = add_verb(app, "source", "the generated source", options);
  verb->add_flag("--ptx", options->ptx, "what NVRTC makes of it");
  verb->callback([options] { source(*options); });

  add_verb(app, "compile", "registers, spills, shared memory, widths of loads and stores, by NVRTC", options)
      ->callback([options] { compile(*options); });
}

}  // namespace tool
