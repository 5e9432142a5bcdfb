#include "codegen/prelude.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "codegen/prelude_files.h"

namespace sinter::codegen {
namespace {

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool continues_name(char c) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c));
}

/// The length of the name or number that `text` starts with.
std::size_t word_length(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), continues_name) - text.begin());
}

/// Calls `f` with every name in C++ text, but those in line comments.
template <class F>
void for_each_name(std::string_view text, F&& f) {
  while (!text.empty()) {
    std::size_t step = 1;
    if (text.starts_with("//")) {
      step = std::min(text.find('\n'), text.size());
    } else if (continues_name(text.front())) {
      step = word_length(text);
      if (starts_name(text.front())) f(text.substr(0, step));
    }
    text.remove_prefix(step);
  }
}

/// The last name in a text, or an empty one.
std::string_view last_name(std::string_view text) {
  std::string_view last;
  for_each_name(text, [&](std::string_view name) { last = name; });
  return last;
}

/// Cuts a text at every occurrence of a separator.
std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at; (at = text.find(separator)) != text.npos; text.remove_prefix(at + separator.size()))
    parts.push_back(text.substr(0, at));
  parts.push_back(text);
  return parts;
}

/// The name that a line defines in namespace scope, or an empty one.
std::string_view defined_name(std::string_view line) {
  const bool is_template = line.starts_with("template ");
  if (line.starts_with("enum class ")) return last_name(line.substr(0, line.find(':')));
  if (line.starts_with("struct ") || (is_template && line.find(" struct ") != line.npos))
    return last_name(line.substr(0, line.find('{')));
  if (is_template || line.starts_with("SN_INLINE ")) return last_name(line.substr(0, line.find('(')));
  if (line.starts_with("typedef ")) return last_name(line);
  constexpr std::string_view macro = "#define ";
  if (!line.starts_with(macro)) return {};
  line.remove_prefix(macro.size());
  return line.substr(0, word_length(line));
}

/// Where a definition stands: primitives are chosen by the compiler that reads them.
enum class Part { types, cuda, host, rest };

Part part_of(std::string_view file) {
  return file == "types.inc"        ? Part::types
         : file.starts_with("cuda") ? Part::cuda
         : file.starts_with("host") ? Part::host
                                    : Part::rest;
}

/// What the files host_*.inc are twins of, threads that work together for one, is there on a GPU alone.
bool serves(std::string_view file, Backend backend) {
  return backend == Backend::cuda || (part_of(file) != Part::cuda && !file.starts_with("host_"));
}

/// A paragraph of the prelude, and the names it defines.
struct Definition {
  Part part;
  std::string_view text;
  std::vector<std::string_view> names;
};

class Prelude {
 public:
  explicit Prelude(Backend backend) {
    for (const PreludeFile& file : prelude_files) {
      if (!serves(file.name, backend)) continue;
      for (std::string_view paragraph : split(file.text, "\n\n")) add(part_of(file.name), paragraph);
    }
  }

  static const Prelude& of(Backend backend) {
    static const Prelude cpu(Backend::cpu), cuda(Backend::cuda);
    return backend == Backend::cpu ? cpu : cuda;
  }

  const std::vector<Definition>& definitions() const { return definitions_; }

  /// Per definition, whether the names in a text need it, directly or not.
  std::vector<bool> needed_by(std::string_view text) const {
    std::vector<bool> needed(definitions_.size());
    std::vector<std::string_view> unread{text};
    while (!unread.empty()) {
      const std::string_view next = unread.back();
      unread.pop_back();
      for_each_name(next, [&](std::string_view name) {
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) return;
        for (std::size_t i : found->second) {
          if (!needed[i]) unread.push_back(definitions_[i].text);
          needed[i] = true;
        }
      });
    }
    return needed;
  }

 private:
  void add(Part part, std::string_view paragraph) {
    Definition definition{part, paragraph, {}};
    while (definition.text.ends_with('\n')) definition.text.remove_suffix(1);
    for (std::string_view line : split(paragraph, "\n")) {
      const std::string_view name = defined_name(line);
      if (name.empty()) continue;
      definition.names.push_back(name);
      by_name_[name].push_back(definitions_.size());
    }
    if (!definition.names.empty()) definitions_.push_back(std::move(definition));  // the others are comments
  }

  std::vector<Definition> definitions_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_name_;
};

}  // namespace

std::string prelude(std::string_view kernel, Backend backend) {
  const Prelude& all = Prelude::of(backend);
  const std::vector<bool> needed = all.needed_by(kernel);
  const auto text_of = [&](Part part) {
    std::string text;
    for (std::size_t i = 0; i < needed.size(); ++i)
      if (needed[i] && all.definitions()[i].part == part)
        text.append(all.definitions()[i].text).append("\n\n");
    return text;
  };
  std::string text = "namespace sinter {\n\n" + text_of(Part::types);
  const std::string cuda = text_of(Part::cuda), host = text_of(Part::host);
  text += cuda.empty() ? host : "#ifdef __CUDACC__\n\n" + cuda + "#else\n\n" + host + "#endif\n\n";
  return text + text_of(Part::rest) + "}  // namespace sinter\n";
}

std::vector<std::string_view> prelude_names(Backend backend) {
  std::vector<std::string_view> names;
  for (const Definition& definition : Prelude::of(backend).definitions())
    for (std::string_view name : definition.names)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

}  // namespace sinter::codegen
