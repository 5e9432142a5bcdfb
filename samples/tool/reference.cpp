// sinter doctor, ops, env: what is there to know of the machine, the operations and the settings.
#include <fmt/format.h>
#include <sinter/doctor.h>
#include <sinter/settings.h>

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "samples/tool/output.h"
#include "samples/tool/verbs.h"

namespace tool {
namespace {

/// A row of the op table, as people see it.
struct OpRow {
  std::string_view name, function;  // in the text form, and in C++
  int operands;                     // 0 where the table does not say
  std::string_view dtypes;
  std::string_view flags;
  std::string_view derivative;
  std::string_view doc;
};

struct OpFamily {
  std::string_view title;
  std::vector<OpRow> rows;
};

std::vector<OpFamily> op_table() {
  return {
      {"Elementwise",
       {
#define SINTER_ELEMENTWISE(id, api, arity, rule, emit, float_ref, whole_ref, flags, flops, derivative, doc) \
  OpRow{#id, #api, arity, #rule, #flags, derivative, doc},
#include <sinter/ops.def>
       }},
      {"Reductions",
       {
#define SINTER_REDUCTION(id, api, combine, identity, accumulator, doc) \
  OpRow{#id, #api, 1, #accumulator, "", "", doc},
#include <sinter/ops.def>
       }},
      {"Movement",
       {
#define SINTER_MOVEMENT(id, api, doc) OpRow{#id, #api, 0, "", "", "", doc},
#include <sinter/ops.def>
       }},
      {"Gathers",
       {
#define SINTER_GATHER(id, api, doc) OpRow{#id, #api, 2, "", "", "", doc},
#include <sinter/ops.def>
       }},
      {"Scatters",
       {
#define SINTER_SCATTER(id, api, form, doc) OpRow{#id, #api, 0, "", "", "", doc},
#include <sinter/ops.def>
       }},
      {"Searches",
       {
#define SINTER_SEARCH(id, api, arity, doc) OpRow{#id, #api, arity, "", "", "", doc},
#include <sinter/ops.def>
       }},
      {"Contractions",
       {
#define SINTER_CONTRACTION(id, api, doc) OpRow{#id, #api, 2, "", "", "", doc},
#include <sinter/ops.def>
       }},
      {"Generators",
       {
#define SINTER_GENERATOR(id, api, doc) OpRow{#id, #api, 0, "", "", "", doc},
#include <sinter/ops.def>
       }},
  };
}

std::string ops_report() {
  std::string text;
  for (const OpFamily& family : op_table()) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", family.title);
    for (const OpRow& row : family.rows) text += fmt::format("  {:<16} {}\n", row.name, row.doc);
  }
  return text;
}

/// A cell of a Markdown table; code where it is not empty.
std::string cell(std::string_view text, bool is_code = false) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return is_code && !escaped.empty() ? "`" + escaped + "`" : escaped;
}

constexpr std::string_view ops_introduction =
    R"(# Operations

Made from the op table, `ir/ops.def`, by `sinter ops --markdown`. *op* is the name in the text form of a graph,
*function* that of the C++ function where it differs. docs/numerics.md says what each gives for NaN, infinities,
overflow and indices out of range.

*dtypes* of elementwise operations, once the operands have met in one dtype T: `numeric` takes whole numbers and floats,
`floating` floats (whole numbers and bool are taken as f32), `ordered` anything, each giving T; `test` and `compare` take
anything and give bool; `logical` takes bool, others compared with zero; `bitwise` whole numbers and bool, `shift` whole
numbers, both giving T; `select` a bool and two of T. Of reductions: `wide` gives int64 for whole numbers and bool, and
folds 16-bit floats in f32; `same` gives the operand's dtype, `truth` bool, `index` int64.

*flags*: `exact` is correctly rounded in every mode; `discrete` can jump for a small change of an operand, which is
rounded to its dtype first; `device_form`, `narrow_form` and `coarse_form` have faster forms on GPUs (numerics.md).

*derivative*: of the result `y` of `a`, `b`, `c`, times the gradient `g`, per operand.
)";

std::string ops_markdown() {
  std::string text(ops_introduction);
  for (const OpFamily& family : op_table()) {
    text += fmt::format(
        "\n## {}\n\n| op | function | dtypes | flags | derivative | meaning |\n|---|---|---|---|---|---|\n",
        family.title);
    for (const OpRow& row : family.rows)
      text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", row.name,
                          cell(row.function == row.name ? "" : row.function, true), cell(row.dtypes),
                          cell(row.flags == "0" ? "" : row.flags), cell(row.derivative, true), cell(row.doc));
  }
  return text;
}

std::string settings_document() {
  return "# Settings\n\n"
         "Environment variables, made from `ir/base/settings.def` by `sinter env --markdown`. The value 0, "
         "or "
         "off, switches off\nany of them but a choice and a device. An unknown `SINTER_` variable is warned "
         "of, and so is a value that a setting does\nnot have: its default then holds, but a device that is "
         "none is refused. `sinter env` prints the values in force.\n\n" +
         sinter::settings_markdown();
}

}  // namespace

void add_reference_verbs(CLI::App& app) {
  app.add_subcommand("doctor", "what was found on this machine, and what is missing")->callback([] {
    print(sinter::doctor_report());
  });

  auto markdown = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("ops", "the op table");
  verb->add_flag("--markdown", *markdown, "print docs/ops.md");
  verb->callback([markdown] { print(*markdown ? ops_markdown() : ops_report()); });

  verb = app.add_subcommand("env", "the settings");
  verb->add_flag("--markdown", *markdown, "print docs/settings.md");
  verb->callback([markdown] { print(*markdown ? settings_document() : sinter::settings_report()); });
}

}  // namespace tool
