#include "runtime/cuda/ptx_accesses.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

namespace sinter::runtime {
namespace {

using Words = std::vector<std::string_view>;

constexpr int bulk_piece = 16;  // bytes that a bulk copy is a multiple of

/// An instruction: what stands between dots in its name, then its operands' words. "[%rd1+16]" gives the
/// words "[", "%rd1" and "16".
struct Instruction {
  Words name;
  Words words;

  bool is(std::string_view part) const { return std::ranges::find(name, part) != name.end(); }
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%' || c == '$' || c == '.' ||
         c == '-';
}

int number(std::string_view digits) {
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

Instruction parse(std::string_view text) {
  Instruction result;
  const auto skip_space = [&] {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  };
  const auto take_word = [&] {
    const auto end = std::ranges::find_if_not(text, is_word);
    const auto length = static_cast<std::size_t>(end - text.begin());
    const std::string_view word = text.substr(0, length);
    text.remove_prefix(length);
    return word;
  };
  skip_space();
  while (text.starts_with('{') || text.starts_with('}')) {  // of a scope
    text.remove_prefix(1);
    skip_space();
  }
  if (text.starts_with('@')) {  // the predicate
    text.remove_prefix(std::min(text.find_first_of(" \t\n"), text.size()));
    skip_space();
  }
  std::string_view name = take_word();
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('.'), name.size());
    result.name.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
    if (name.empty() && text.starts_with("::")) {  // as in "shared::cta.global"
      text.remove_prefix(2);
      name = take_word();
    }
  }
  while (!text.empty()) {
    if (text.front() == '[') result.words.push_back(text.substr(0, 1));
    if (is_word(text.front()))
      result.words.push_back(take_word());
    else
      text.remove_prefix(1);
  }
  return result;
}

/// Bytes of "u32", "b128", ...
int type_bytes(std::string_view type) {
  const std::size_t digits = type.find_first_of("0123456789");
  const bool is_type = digits != type.npos && digits > 0 && digits <= 2 &&
                       std::string_view("bufs").find(type.front()) != std::string_view::npos;
  return is_type ? number(type.substr(digits)) / 8 : 0;
}

int access_bytes(const Instruction& i) {
  int lanes = 1, bytes = 0;
  for (const std::string_view part : i.name) {
    if (part.size() == 2 && part.front() == 'v') lanes = number(part.substr(1));
    if (const int b = type_bytes(part); b > 0) bytes = b;
  }
  return lanes * bytes;
}

class Reader {
 public:
  Reader(std::string_view ptx, std::span<const int> pointers, int stride)
      : pointers_(pointers), stride_(stride) {
    const std::size_t entry = ptx.find(".entry");
    const std::size_t body = ptx.find('{', std::min(entry, ptx.size()));
    if (body == ptx.npos) return;
    ptx.remove_prefix(body + 1);
    while (!ptx.empty()) {
      const std::size_t end = std::min(ptx.find_first_of(";:"), ptx.size());
      // A colon ends a label, but for the double one within a name.
      std::size_t stop = end;
      while (ptx.substr(stop).starts_with("::"))
        stop = std::min(ptx.find_first_of(";:", stop + 2), ptx.size());
      std::string_view text = ptx.substr(0, stop);
      const bool is_label = ptx.substr(stop).starts_with(':');
      ptx.remove_prefix(std::min(stop + 1, ptx.size()));
      while (text.find("//") != text.npos) {  // comments stand before the instruction
        const std::size_t line = text.find('\n', text.find("//"));
        text.remove_prefix(line == text.npos ? text.size() : line);
      }
      if (is_label) continue;
      if (Instruction instruction = parse(text); !instruction.name.empty())
        instructions_.push_back(std::move(instruction));
    }
  }

  std::vector<GlobalAccesses> run() {
    trace_pointers();
    std::vector<GlobalAccesses> found;
    for (const Instruction& i : instructions_) {
      const bool is_copy = i.name[0] == "cp" && i.is("global");
      const bool is_store = i.name[0] == "st";
      if ((i.name[0] != "ld" && !is_store && !is_copy) || i.is("prefetch")) continue;
      if (i.is("param") || (i.is("shared") && !is_copy) || i.is("local") || i.is("const")) continue;
      const bool is_bulk = is_copy && i.is("bulk");
      const int bytes = is_bulk ? bulk_piece : is_copy ? number(i.words.back()) : access_bytes(i);
      const int parameter = parameter_of(address_of(i, is_copy));
      const auto same = std::ranges::find_if(found, [&](const GlobalAccesses& a) {
        return a.parameter == parameter && a.is_store == is_store && a.bytes == bytes;
      });
      if (same != found.end())
        ++same->count;
      else
        found.push_back({parameter, is_store, bytes, 1});
    }
    std::ranges::sort(found, [](const GlobalAccesses& a, const GlobalAccesses& b) {
      return std::tuple(a.parameter, a.is_store, -a.bytes) < std::tuple(b.parameter, b.is_store, -b.bytes);
    });
    return found;
  }

 private:
  using Sources = std::set<int>;  // pointers that a register's value is made from

  /// The word after the bracket: the first one of a load or store, the second one of a copy, whose third, if
  /// it has one, is of a barrier.
  static std::string_view address_of(const Instruction& i, bool is_copy) {
    int before = is_copy ? 1 : 0;
    for (std::size_t w = 0; w + 1 < i.words.size(); ++w)
      if (i.words[w] == "[" && before-- == 0) return i.words[w + 1];
    return {};
  }

  int parameter_of(std::string_view reg) const {
    const auto found = sources_.find(reg);
    return found != sources_.end() && found->second.size() == 1 ? *found->second.begin() : -1;
  }

  /// Which pointers among the parameters each register derives from. What is loaded from memory derives from
  /// none. Loops carry pointers back, so this runs until nothing changes.
  void trace_pointers() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& i : instructions_) {
        changed |= trace_address(i);
        if (i.name[0] == "ld" && i.is("param"))
          changed |= read_parameters(i);
        else if (i.name[0] != "ld" && i.name[0] != "setp" && i.name[0] != "shfl" && !i.words.empty())
          for (std::size_t w = 1; w < i.words.size(); ++w)
            if (const auto from = sources_.find(i.words[w]); from != sources_.end()) {
              const Sources more = from->second;  // the map may grow
              for (int parameter : more) changed |= sources_[i.words[0]].insert(parameter).second;
            }
      }
    }
  }

  /// Where in the parameters of an instance an address points that is made from the address of the block:
  /// what else is added to it is a multiple of their bytes.
  bool trace_address(const Instruction& i) {
    const std::string_view name = i.name[0];
    if (i.words.size() < 2 || (name != "mov" && name != "add" && name != "mad")) return false;
    int place = -1;
    if (name == "mov" && i.words[1].ends_with("_param_0")) place = 0;
    for (std::size_t w = 1; w < i.words.size(); ++w)
      if (const auto base = addresses_.find(i.words[w]); base != addresses_.end()) place = base->second;
    if (place < 0) return false;
    for (std::size_t w = 1; w < i.words.size() && name == "add"; ++w)
      if (!i.words[w].starts_with('%')) place += number(i.words[w]);
    return addresses_.emplace(i.words[0], in_instance(place)).second;
  }
  int in_instance(int offset) const { return stride_ > 0 ? (offset % stride_ + stride_) % stride_ : offset; }

  bool read_parameters(const Instruction& i) {
    const auto bracket = std::ranges::find(i.words, "[");
    if (bracket == i.words.end() || type_bytes(i.name.back()) != 8) return false;
    const auto address = bracket + 1;
    int offset = address + 1 < i.words.end() ? number(*(address + 1)) : 0;
    if (address->starts_with('%')) {
      const auto base = addresses_.find(*address);
      if (base == addresses_.end()) return false;
      offset += base->second;
    }
    bool changed = false;
    for (auto reg = i.words.begin(); reg != bracket; ++reg, offset += 8)
      if (const int place = in_instance(offset); std::ranges::find(pointers_, place) != pointers_.end())
        changed |= sources_[*reg].insert(place).second;
    return changed;
  }

  std::span<const int> pointers_;
  int stride_;  // from the parameters of one instance to the next; 0: there is one
  std::vector<Instruction> instructions_;
  std::unordered_map<std::string_view, Sources> sources_;
  std::unordered_map<std::string_view, int> addresses_;  // in the parameters
};

}  // namespace

std::vector<GlobalAccesses> global_accesses(std::string_view ptx, std::span<const int> pointers, int stride) {
  return Reader(ptx, pointers, stride).run();
}

}  // namespace sinter::runtime
