#include "ir/parse.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "ir/base/check.h"
#include "ir/lexer.h"
#include "ir/parse_call.h"
#include "ir/text_form.h"

namespace sinter::ir {
namespace {

/// Runs `make`; an error of the builder gets the place in the text put before it.
template <class Make>
auto placed(const Lexer& lexer, std::size_t offset, Make make) {
  try {
    return make();
  } catch (const ShapeError& error) {
    throw ShapeError(lexer.locate(offset, error.what()));
  } catch (const DTypeError& error) {
    throw DTypeError(lexer.locate(offset, error.what()));
  } catch (const ValueError& error) {
    throw ValueError(lexer.locate(offset, error.what()));
  } catch (const UnsupportedError& error) {
    throw UnsupportedError(lexer.locate(offset, error.what()));
  }
}

/// Reads an expression; `name` reads a reference to a value where the lexer stands, or gives nothing. Calls
/// nest on a stack of their own, so depth costs no C++ stack.
template <class Name>
Operand read_expression(Lexer& lexer, Graph& graph, Name name) {
  struct Open {
    Op op;
    std::size_t offset;
    std::vector<Operand> operands;
    WrittenAttributes attributes;
  };
  std::vector<Open> open;
  while (true) {
    std::optional<Operand> done;
    if (auto number = read_number(lexer)) {
      if (const Scalar* scalar = std::get_if<Scalar>(&*number))
        done = graph.constant(*scalar, Where{});
      else
        done = std::get<Literal>(*number);
    } else if (lexer.peek().kind == TokenKind::word && lexer.second().is("(")) {
      const Token word = lexer.next();
      lexer.next();
      open.push_back({read_op(lexer, word), word.offset, {}, {}});
    } else if (!open.empty() && lexer.peek().kind == TokenKind::word && lexer.second().is("=")) {
      open.back().attributes.read(lexer, open.back().op);
      if (!lexer.peek().is(")")) lexer.expect(",");
    } else if (open.empty() || !lexer.peek().is(")")) {
      done = name();
    }
    // Close what ends here; a closed call is an operand of the one around it.
    while (done || (!open.empty() && lexer.peek().is(")"))) {
      if (done) {
        if (open.empty()) return *done;
        open.back().operands.push_back(*done);
        done.reset();
        if (!lexer.peek().is(")")) {
          lexer.expect(",");
          break;
        }
      }
      lexer.next();
      Open call = std::move(open.back());
      open.pop_back();
      done = placed(lexer, call.offset,
                    [&] { return make_call(graph, call.op, call.operands, call.attributes); });
    }
  }
}

class GraphParser {
 public:
  GraphParser(std::string_view text, std::string_view file) : lexer_(text, file) {}

  Graph run() {
    lexer_.expect("graph");
    lexer_.expect("@");
    graph_ = Graph(read_name());
    read_inputs();
    if (lexer_.take("where")) read_facts();
    lexer_.expect("{");
    while (!lexer_.peek().is("return")) read_line();
    lexer_.next();
    if (!lexer_.peek().is("}")) read_outputs();
    lexer_.expect("}");
    if (lexer_.peek().kind != TokenKind::end) lexer_.fail_expecting("the end of the text");
    return std::move(graph_);
  }

 private:
  /// A word, or a string that spells any name.
  std::string read_name() {
    if (lexer_.peek().kind == TokenKind::word) return std::string(lexer_.next().text);
    if (lexer_.peek().kind != TokenKind::string) lexer_.fail_expecting("a name");
    const Token token = lexer_.next();
    return unquote(lexer_, token);
  }

  std::int64_t read_whole() {
    std::int64_t value = 0;
    const Token token = lexer_.peek();
    const auto end = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value).ptr;
    if (token.kind != TokenKind::number || end != token.text.data() + token.text.size())
      lexer_.fail_expecting("a whole number");
    lexer_.next();
    return value;
  }

  void read_inputs() {
    lexer_.expect("(");
    while (!lexer_.peek().is(")")) {
      const std::size_t offset = lexer_.expect("%").offset;
      std::string name = read_name();
      std::vector<Value>& same_name = named_[name];
      const std::int64_t occurrence = lexer_.take("~") ? read_whole() : 1;
      if (occurrence != static_cast<std::int64_t>(same_name.size()) + 1)
        lexer_.fail_at(offset,
                       fmt::format("expected %{}{}, the next input of this name", spell_name(name),
                                   same_name.empty() ? "" : fmt::format("~{}", same_name.size() + 1)));
      lexer_.expect(":");
      const DType t = read_dtype(lexer_);
      same_name.push_back(graph_.input(std::move(name), t, Shape(read_dims(lexer_)), Where{}));
      if (!lexer_.take(",")) break;
    }
    lexer_.expect(")");
  }

  void read_facts() {
    const std::vector<std::string> symbols = graph_.symbols();
    do {
      if (lexer_.peek().kind != TokenKind::word) lexer_.fail_expecting("a symbol");
      const Token word = lexer_.next();
      const std::string symbol(word.text);
      if (std::ranges::find(symbols, symbol) == symbols.end())
        lexer_.fail_at(word.offset,
                       fmt::format("no input has {} in its shape; {}", symbol,
                                   symbols.empty() ? "their lengths are all numbers"
                                                   : fmt::format("there are {}", fmt::join(symbols, ", "))));
      // A second fact of one kind would take the place of the first.
      const auto record = [&](auto& facts, std::int64_t value, const char* sign) {
        if (!facts.emplace(symbol, value).second)
          lexer_.fail_at(word.offset, fmt::format("there is a fact {} {} already", symbol, sign));
      };
      if (lexer_.take(">=")) {
        record(graph_.facts().minimum, read_whole(), ">=");
        continue;
      }
      if (!lexer_.take("%")) lexer_.fail_expecting("'>=' or '%'");
      const std::size_t offset = lexer_.peek().offset;
      const std::int64_t divisor = read_whole();
      if (divisor < 1) lexer_.fail_at(offset, "a divisor is at least 1");
      lexer_.expect("==");
      if (!lexer_.take("0")) lexer_.fail_expecting("0, since a fact is about a divisor");
      record(graph_.facts().divisor, divisor, "%");
    } while (lexer_.take(","));
  }

  void read_line() {
    if (!lexer_.peek().is("%")) lexer_.fail_expecting("a line such as '%0 = add(%x, 1)', or 'return'");
    const std::size_t offset = lexer_.next().offset;
    const bool is_number = lexer_.peek().kind == TokenKind::number;
    const std::int64_t number = is_number ? read_whole() : 0;
    const std::string name = is_number ? "" : read_name();
    if (is_number ? numbered_.contains(number) : named_.contains(name))
      lexer_.fail_at(offset, fmt::format("%{} is defined already",
                                         is_number ? std::to_string(number) : spell_name(name)));
    lexer_.expect("=");
    const Value value = read_value();
    if (is_number)
      numbered_.emplace(number, value);
    else
      named_[name] = {value};
  }

  /// Results are told apart by their names, which are out0, out1, ... by their places where none is written.
  void read_outputs() {
    std::unordered_map<std::string, bool> by_place;  // of each name
    do {
      const std::size_t offset = lexer_.peek().offset;
      const TokenKind kind = lexer_.peek().kind;
      std::string name;
      if ((kind == TokenKind::word || kind == TokenKind::string) && lexer_.second().is("=")) {
        name = read_name();
        lexer_.next();
      }
      const std::string own = name.empty() ? fmt::format("out{}", graph_.outputs().size()) : name;
      if (const auto [other, is_new] = by_place.emplace(own, name.empty()); !is_new)
        lexer_.fail_at(offset,
                       fmt::format("there is a result named {} already{}", spell_name(own),
                                   name.empty() || other->second
                                       ? "; without a name, results are out0, out1, ... by their places"
                                       : ""));
      graph_.output(read_value(), std::move(name));
    } while (lexer_.take(","));
  }

  /// An expression as a node.
  Value read_value() {
    const Operand operand = read_expression(lexer_, graph_, [&] { return read_reference(); });
    if (const Value* value = std::get_if<Value>(&operand)) return *value;
    const Literal& literal = std::get<Literal>(operand);
    return graph_.constant(to_scalar(literal, default_dtype(literal)), Where{});
  }

  Value read_reference() {
    const Token sign = lexer_.peek();
    if (!lexer_.take("%")) {
      if (sign.kind == TokenKind::word && named_.contains(std::string(sign.text)))
        lexer_.fail_at(sign.offset, fmt::format("values are written with a sign: %{}", sign.text));
      lexer_.fail_expecting("a value such as %x, a number, or a call");
    }
    if (lexer_.peek().kind == TokenKind::number) {
      const std::int64_t number = read_whole();
      const auto found = numbered_.find(number);
      if (found == numbered_.end())
        lexer_.fail_at(sign.offset, fmt::format("%{} is not defined above", number));
      return found->second;
    }
    const std::string name = read_name();
    const auto found = named_.find(name);
    if (found == named_.end())
      lexer_.fail_at(sign.offset, fmt::format("%{} is not defined above", spell_name(name)));
    const std::int64_t occurrence = lexer_.take("~") ? read_whole() : 1;
    if (occurrence < 1 || occurrence > static_cast<std::int64_t>(found->second.size()))
      lexer_.fail_at(sign.offset, fmt::format("there are {} inputs of this name", found->second.size()));
    return found->second[static_cast<std::size_t>(occurrence - 1)];
  }

  Lexer lexer_;
  Graph graph_;
  std::unordered_map<std::string, std::vector<Value>> named_;  // several only for inputs of one name
  std::unordered_map<std::int64_t, Value> numbered_;
};

}  // namespace

Graph parse(std::string_view text, std::string_view file) {
  return GraphParser(text, file).run();
}

Operand parse_expression(Graph& graph, std::string_view text,
                         const std::map<std::string, Value, std::less<>>& names) {
  Lexer lexer(text);
  const Operand result = read_expression(lexer, graph, [&]() -> Value {
    const auto found = names.find(lexer.peek().text);
    if (found == names.end()) lexer.fail_expecting("a known name, a number, or a call");
    lexer.next();
    return found->second;
  });
  if (lexer.peek().kind != TokenKind::end) lexer.fail_expecting("the end of the expression");
  return result;
}

}  // namespace sinter::ir
