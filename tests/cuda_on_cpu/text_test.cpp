// What the text of CUDA kernels may contain, so that it is the very text that the simulator runs: what only
// CUDA's compilers know stands in the part of the prelude that is theirs.
#include <cctype>
#include <set>
#include <string>

#include "ir/parse.h"
#include "ir/rewrite.h"
#include "runtime/program_impl.h"
#include "tests/catch.h"
#include "tests/support/compile_source.h"
#include "tests/support/random_graph.h"

using namespace sinter;
using namespace sinter::testing;

namespace {

/// The text without what an #ifdef __CUDACC__ chooses, in either branch, and without comments.
std::string common_part(const std::string& text) {
  std::string rest;
  int depth = 0;  // of conditions within the choice
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line == "#ifdef __CUDACC__")
      depth = 1;
    else if (depth > 0)
      depth += line.starts_with("#if") ? 1 : line.starts_with("#endif") ? -1 : 0;
    else
      rest += line.substr(0, line.find("//")) + "\n";
  }
  return rest;
}

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else {
      words.insert(word);
      word.clear();
    }
  }
  return words;
}

void check_text(const std::string& text) {
  const std::set<std::string> known{"__global__", "__grid_constant__", "__launch_bounds__", "__shared__",
                                    "__restrict"};
  for (const std::string& word : words_of(common_part(text))) {
    INFO(word << "\n" << text);
    CHECK((!word.starts_with("__") || known.contains(word)));
    CHECK(word != "asm");
  }
}

void check_graph(const ir::Graph& g) {
  for (Numerics numerics : {Numerics::strict, Numerics::standard, Numerics::fast}) {
    runtime::ProgramOptions options;
    options.numerics = numerics;
    options.target = codegen::Target::cuda("sm_90a");
    const auto program = runtime::Program::build(ir::without_dead_nodes(g), options);
    for (const codegen::KernelSource& source : program->impl().sources) check_text(source.text);
  }
}

}  // namespace

TEST_CASE("the common part of a text is what no condition on the compiler chooses") {
  CHECK(common_part("a\n#ifdef __CUDACC__\nb\n#if c\nd\n#else\ne\n#endif\n#else\nf\n#endif\ng  // __h\n") ==
        "a\ng  \n");
}

TEST_CASE("CUDA kernels call no intrinsic but through the prelude") {
  check_graph(
      ir::parse("graph @rows(%x: bf16[64, 1024], %y: f32[64, 1000]) {\n  %d = sub(%x, max(%x, axes=[1], "
                "keepdims=true))\n"
                "  %e = exp(%y)\n  return div(%d, sum(exp(%d), axes=[1], keepdims=true)), div(%e, sum(%e, "
                "axes=[1], keepdims=true)),"
                " argmax(%y, axes=[0]), sum(%y), any(greater(%x, 0), axes=[1])\n}\n"));
  for (std::uint64_t seed = 0; seed < 60; ++seed) check_graph(random_graph(seed));
}
