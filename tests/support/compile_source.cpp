#include "tests/support/compile_source.h"

#include <chrono>
#include <filesystem>

#include "runtime/subprocess.h"
#include "tests/support/sandbox.h"

namespace sinter::testing {

CompiledSource compile_source(std::vector<std::string> compiler, const std::string& source,
                              const std::string& file) {
  const TemporaryDirectory directory;
  runtime::Command command{std::move(compiler)};
  command.arguments.push_back(directory.write(file, source));
  const std::string output = directory / "output";
  command.arguments.insert(command.arguments.end(), {"-o", output});
  command.environment = {{"TMPDIR", directory.path()}};
  command.time_limit = std::chrono::minutes(2);
  command.kept_bytes = 16 << 20;
  const runtime::Outcome outcome = runtime::run_program(command);
  CompiledSource result{outcome.ok(), outcome.out + outcome.err, {}};
  if (!result.ok)
    result.messages = runtime::quoted(command.arguments) + " " + outcome.describe() + "\n" + result.messages;
  else if (std::filesystem::exists(output))
    result.output = read_text(output);
  return result;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t at; (at = text.find(from)) != text.npos; text.remove_prefix(at + from.size()))
    result.append(text.substr(0, at)).append(to);
  return result.append(text);
}

}  // namespace sinter::testing
