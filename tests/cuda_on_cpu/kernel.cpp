#include "tests/cuda_on_cpu/kernel.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "ir/base/check.h"
#include "runtime/disk_cache.h"
#include "runtime/host_compiler.h"
#include "runtime/subprocess.h"
#include "tests/support/compile_source.h"
#include "tests/support/sandbox.h"

namespace sinter::testing::cuda_on_cpu {
namespace {

/// What the compiler of CUDA knows by itself. Shared arrays are static ones in a section of their own, each
/// next to a gap, so that a step over an array's end does not lead into another. The indices never change for
/// the thread that reads them.
constexpr const char* preamble = R"(
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define SIMULATED_JOIN_(a, b) a##b
#define SIMULATED_JOIN(a, b) SIMULATED_JOIN_(a, b)
#define SIMULATED_SECTION __attribute__((section("simulated_shared"), used))
#define __shared__ \
  static unsigned char SIMULATED_JOIN(simulated_gap, __COUNTER__)[256] SIMULATED_SECTION; \
  static SIMULATED_SECTION
extern "C" {
struct simulated_index { unsigned x, y, z; };
extern __attribute__((visibility("hidden"))) const simulated_index threadIdx, blockIdx, blockDim, gridDim;
}
#line 1 "kernel"
)";

const std::vector<std::string>& compiler() {
  static const std::vector<std::string> command{
      SINTER_TEST_CXX,
      "-std=c++20",
      "-w",
      "-O1",
      "-g1",
      "-march=native",
      "-fPIC",
      "-shared",
      "-nodefaultlibs",  // not the sanitizers' own
      "-ffp-contract=off",
      "-fno-math-errno",
      "-fno-trapping-math",
      "-fno-exceptions",
      "-fno-strict-aliasing",
      "-fno-tree-sra",  // a vector is loaded as a whole, though parts of it may not be used
      "-ftrivial-auto-var-init=pattern",
      "-fsanitize=thread",
      "-fsanitize=undefined,float-cast-overflow,bounds-strict",
      "-fno-sanitize=object-size",  // every access is checked
      SINTER_KERNEL_SIDE,
      "-lm",
      "-lc"};
  return command;
}

std::string compiled_object(const std::string& name, const std::string& text) {
  static runtime::DiskCache cache([] {
    runtime::DiskCacheOptions options;
    options.directory = SINTER_SIMULATOR_CACHE;
    return options;
  }());
  const std::string source =
      preamble + text +
      fmt::format(
          "namespace sinter {{\nextern \"C\" void simulator_entry(const void* params) {{ {}(*(const "
          "Params*)params); }}\n}}\n",
          name);
  static const std::string identity = runtime::quoted(compiler()) + SINTER_TEST_CXX_VERSION +
                                      runtime::processor_identity() + read_text(SINTER_KERNEL_SIDE);
  const std::string key = identity + source;
  if (auto object = cache.load(key)) return std::move(*object);
  CompiledSource result = compile_source(compiler(), source, "kernel.cpp");
  if (!result.ok) fail<CompileError>("{} does not compile for the CPU\n{}\n{}", name, result.messages, text);
  cache.store(key, result.output);
  return std::move(result.output);
}

/// The table of local symbols of an ELF file.
struct Symbols {
  std::vector<Elf64_Sym> symbols;
  std::vector<std::string> names;
  std::vector<std::string> sections;  // of each, the name

  explicit Symbols(const std::string& file) {
    const auto at = [&]<class T>(T*, std::uint64_t offset) {
      T x;
      std::memcpy(&x, file.data() + offset, sizeof(T));
      return x;
    };
    const auto header = at(static_cast<Elf64_Ehdr*>(nullptr), 0);
    const auto section = [&](std::uint64_t i) {
      return at(static_cast<Elf64_Shdr*>(nullptr), header.e_shoff + i * header.e_shentsize);
    };
    const auto text = [&](const Elf64_Shdr& table, std::uint64_t offset) {
      return std::string(file.data() + table.sh_offset + offset);
    };
    const Elf64_Shdr section_names = section(header.e_shstrndx);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      const Elf64_Shdr table = section(i);
      if (table.sh_type != SHT_SYMTAB) continue;
      for (std::uint64_t k = 0; k < table.sh_size; k += sizeof(Elf64_Sym)) {
        const auto symbol = at(static_cast<Elf64_Sym*>(nullptr), table.sh_offset + k);
        symbols.push_back(symbol);
        names.push_back(text(section(table.sh_link), symbol.st_name));
        const bool placed = symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < header.e_shnum;
        sections.push_back(placed ? text(section_names, section(symbol.st_shndx).sh_name) : "");
      }
    }
  }
};

/// "shared3" of "kernel(Params)::shared3".
std::string variable_name(const std::string& symbol) {
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = text ? text : symbol;
  std::free(text);
  const std::size_t scope = name.rfind("::");
  return scope == name.npos ? name : name.substr(scope + 2);
}

}  // namespace

Kernel::Kernel(std::string name, std::string text, std::string object)
    : name_(std::move(name)), text_(std::move(text)), bytes_(std::move(object)) {
  object_ = runtime::LoadedObject::load(name_, bytes_);
  entry_ = reinterpret_cast<void (*)(const void*)>(object_->function("simulator_entry"));
  connect_ = reinterpret_cast<LaunchIndices (*)(const Hooks*)>(object_->function("simulator_connect"));
  find_shared_arrays();
}

void Kernel::find_shared_arrays() {
  const Symbols table(bytes_);
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(connect_), &self);
  for (std::size_t i = 0; i < table.symbols.size(); ++i) {
    const Elf64_Sym& symbol = table.symbols[i];
    const std::string variable = variable_name(table.names[i]);
    if (table.sections[i] != "simulated_shared" || ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
    if (symbol.st_size == 0 || variable.starts_with("simulated_gap")) continue;
    shared_.push_back({variable, Region::Kind::shared,
                       static_cast<std::byte*>(self.dli_fbase) + symbol.st_value,
                       static_cast<std::int64_t>(symbol.st_size), 1});
  }
}

std::shared_ptr<const Kernel> Kernel::compile(const std::string& name, const std::string& text) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Kernel>> kernels;
  {
    const std::scoped_lock lock(mutex);
    if (const auto found = kernels.find(text); found != kernels.end()) return found->second;
  }
  std::shared_ptr<const Kernel> made(new Kernel(name, text, compiled_object(name, text)));
  const std::scoped_lock lock(mutex);
  return kernels.emplace(text, std::move(made)).first->second;
}

std::string Kernel::line(unsigned number) const {
  std::size_t begin = 0;
  for (unsigned i = 1; i < number && begin != text_.npos; ++i) begin = text_.find('\n', begin) + 1;
  if (number == 0 || begin >= text_.size()) return "";
  std::string found = text_.substr(begin, text_.find('\n', begin) - begin);
  found.erase(0, found.find_first_not_of(' '));
  return fmt::format("line {}: {}", number, found);
}

std::string Kernel::line_at(const void* code) const {
  const std::string program = runtime::find_program("addr2line");
  Dl_info self{};
  if (program.empty() || dladdr(code, &self) == 0) return "";
  const TemporaryDirectory directory;
  // The address is where the call returns to.
  const auto offset = static_cast<const std::byte*>(code) - static_cast<const std::byte*>(self.dli_fbase) - 1;
  const runtime::Outcome outcome = runtime::run_program(
      {{program, "-e", directory.write("kernel.so", bytes_), fmt::format("{:#x}", offset)}});
  const std::size_t colon = outcome.out.rfind(':');
  if (!outcome.ok() || colon == outcome.out.npos) return "";
  return line(static_cast<unsigned>(std::atoi(outcome.out.c_str() + colon + 1)));
}

}  // namespace sinter::testing::cuda_on_cpu
