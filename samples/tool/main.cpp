// The sinter command-line tool; docs/tool.md is its manual.
//
// Exit codes: 0 fine, 1 the user's mistake (an unknown name, a file that cannot be read, a device that is not
// there), 2 ours.
#include <sinter/error.h>
#include <sinter/settings.h>
#include <sinter/version.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "samples/tool/verbs.h"

namespace {

constexpr int exit_users_mistake = 1, exit_our_mistake = 2;

int complain(const std::string& message, int exit_code) {
  std::fprintf(stderr, "sinter: %s\n", message.c_str());
  return exit_code;
}

/// A verb that is missing, or a word in its place that is none: neither does CLI11 tell well.
std::string mistaken_verb(const CLI::App& app, char** words) {
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  if (verbs.empty() || (*words != nullptr && **words == '-')) return {};
  if (*words == nullptr) return "a verb is missing\n\n" + app.help();
  std::string names;
  for (const CLI::App* verb : verbs) {
    if (verb->get_name() == *words) return mistaken_verb(*verb, words + 1);
    if (!verb->get_group().empty()) names += (names.empty() ? "" : ", ") + verb->get_name();
  }
  return std::string("there is no verb \"") + *words + "\"; there are " + names;
}

/// An empty text, such as a script's variable without a value, chooses nothing; it is not the same as no
/// option.
void refuse_empty_texts(CLI::App& app) {
  const CLI::Validator check(
      [](std::string& text) -> std::string {
        return text.empty() ? "it takes a text that is not empty" : "";
      },
      "");
  for (CLI::Option* option : app.get_options())
    if (option->get_expected_max() > 0) option->check(check);
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) refuse_empty_texts(*verb);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "sinter: a fusion compiler for tensor programs. WHAT is a workload (sinter list) or a file with the\n"
      "text form of a graph.",
      "sinter"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("sinter ") + sinter::version);
  tool::add_list(app);
  tool::add_run(app);
  tool::add_bench(app);
  tool::add_looking_verbs(app);
  tool::add_cache(app);
  tool::add_reference_verbs(app);
  refuse_empty_texts(app);
  if (const std::string message = mistaken_verb(app, argv + 1); !message.empty())
    return complain(message, exit_users_mistake);
  try {
    sinter::warn_of_wrong_settings();  // every verb, for those that need none as well
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    return complain(std::string(error.what()) + "; --help says more", exit_users_mistake);
  } catch (const sinter::InternalError& error) {
    return complain(std::string("this is a fault of sinter, please report it: ") + error.what(),
                    exit_our_mistake);
  } catch (const sinter::CompileError& error) {
    return complain(error.what(), exit_our_mistake);
  } catch (const sinter::Error& error) {
    return complain(error.what(), exit_users_mistake);
  } catch (const std::bad_alloc&) {
    return complain("there is not enough memory for this; choose smaller lengths with --set",
                    exit_users_mistake);
  } catch (const std::exception& error) {
    return complain(std::string("this is a fault of sinter, please report it: ") + error.what(),
                    exit_our_mistake);
  }
}
