#include "runtime/cuda/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nvrtc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <system_error>

#include "codegen/prelude.h"
#include "ir/base/check.h"
#include "ir/base/settings.h"
#include "runtime/compile_error.h"
#include "runtime/cuda/find_library.h"
#include "runtime/cuda/ptxas_report.h"
#include "runtime/file.h"
#include "runtime/private_directory.h"
#include "runtime/subprocess.h"

namespace sinter::runtime {

/// The functions that are used, found by their names.
class Nvrtc::Library {
 public:
  /// Says which function is missing, if one is.
  std::string open(void* handle) {
    std::string missing;
    const auto find = [&](auto*& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
      if (function == nullptr && missing.empty()) missing = name;
    };
    find(version, "nvrtcVersion");
    find(arch_count, "nvrtcGetNumSupportedArchs");
    find(archs, "nvrtcGetSupportedArchs");
    find(create, "nvrtcCreateProgram");
    find(destroy, "nvrtcDestroyProgram");
    find(compile, "nvrtcCompileProgram");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(ptx_size, "nvrtcGetPTXSize");
    find(ptx, "nvrtcGetPTX");
    find(cubin_size, "nvrtcGetCUBINSize");
    find(cubin, "nvrtcGetCUBIN");
    find(error_text, "nvrtcGetErrorString");
    find(set_callback, "nvrtcSetFlowCallback");
    return missing;
  }

  decltype(&nvrtcVersion) version;
  decltype(&nvrtcGetNumSupportedArchs) arch_count;
  decltype(&nvrtcGetSupportedArchs) archs;
  decltype(&nvrtcCreateProgram) create;
  decltype(&nvrtcDestroyProgram) destroy;
  decltype(&nvrtcCompileProgram) compile;
  decltype(&nvrtcGetProgramLogSize) log_size;
  decltype(&nvrtcGetProgramLog) log;
  decltype(&nvrtcGetPTXSize) ptx_size;
  decltype(&nvrtcGetPTX) ptx;
  decltype(&nvrtcGetCUBINSize) cubin_size;
  decltype(&nvrtcGetCUBIN) cubin;
  decltype(&nvrtcGetErrorString) error_text;
  decltype(&nvrtcSetFlowCallback) set_callback;
};

namespace {

/// ptxas spills a few registers where it then fits one more block into a multiprocessor, which does not pay
/// for kernels that wait for memory; told that one block is enough, it uses those that are there. What spills
/// more than these few is too large for any block, and would only take longer.
constexpr std::array room_for_one_block{"--ptxas-options=--minnctapersm=1", "--define-macro=ONE_BLOCK"};
constexpr int few_bytes = 512;

constexpr int least_major = 12, least_minor = 8;

/// A text that NVRTC gives by two functions: its size with the terminating zero, and its bytes.
template <class Size, class Get>
std::string text_of(nvrtcProgram program, Size size, Get get) {
  std::size_t bytes = 0;
  if (size(program, &bytes) != NVRTC_SUCCESS || bytes <= 1) return {};
  std::string text(bytes, '\0');
  if (get(program, text.data()) != NVRTC_SUCCESS) return {};
  return text;
}

std::string without_zero(std::string text) {
  while (text.ends_with('\0')) text.pop_back();
  return text;
}

/// The library looks for its builtins by their bare name; where it was found by a path of its own they lie
/// beside it, and once they are loaded that name means them.
void load_builtins(const std::string& path, int major, int minor) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  dlopen(fmt::format("{}libnvrtc-builtins.so.{}.{}", directory, major, minor).c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// A compilation takes and frees some ten megabytes, and getting them anew from the system, page by page, is
/// a tenth of its time. glibc holds on to freed memory, and takes larger blocks from what it holds, once a
/// program has shown by freeing a block of this size that it has use for such.
void hold_freed_memory() {
  constexpr std::size_t bytes = std::size_t{30} << 20;
  void* volatile block = std::malloc(bytes);  // volatile: or both calls are left out
  std::free(block);
}

/// Runs it in a new thread, which glibc gives the heap of one that has ended, with the memory of earlier
/// compilations; here, if no thread is to be had.
template <class F>
auto in_new_thread(const F& f) {
  std::future<std::invoke_result_t<F>> result;
  try {
    result = std::async(std::launch::async, std::cref(f));
  } catch (const std::system_error&) {
    return f();
  }
  return result.get();
}

/// A kernel that uses what row kernels use: loads and stores of vectors, loops that are unrolled, a fold by
/// shuffles and shared memory, a square root and quotients.
constexpr std::string_view usual_kernel = R"(
namespace sinter {

extern "C" __global__ void __launch_bounds__(256) warm_up(const f32* __restrict in, f32* __restrict out) {
  const int t = (int)threadIdx.x;
  const f32* const row = in + (int64)blockIdx.x * 4096;
  vec<f32, 4> x[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) x[c] = load_vec<4, 4>(row + (256 * c + t) * 4);
  f32 sum = 0.0f;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
#pragma unroll
    for (int k = 0; k < 4; ++k) sum = sum + x[c].at[k] * exp(x[c].at[k]);
  }
#pragma unroll
  for (int half = 16; half != 0; half /= 2) sum = sum + shuffle_xor(sum, half);
  __shared__ f32 shared[8];
  if (t % 32 == 0) shared[t / 32] = sum;
  sync_block();
  sum = shared[t % 8];
#pragma unroll
  for (int half = 4; half != 0; half /= 2) sum = sum + shuffle_xor(sum, half);
  const f32 root = sqrt(sum);
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    vec<f32, 4> y;
#pragma unroll
    for (int k = 0; k < 4; ++k) y.at[k] = x[c].at[k] / root;
    store_vec<4>(out + (int64)blockIdx.x * 4096 + (256 * c + t) * 4, y);
  }
}

}  // namespace sinter
)";

struct Deadline {
  std::chrono::steady_clock::time_point end;
  static int passed(void* deadline, void*) {
    return std::chrono::steady_clock::now() > static_cast<const Deadline*>(deadline)->end;
  }
};

/// "sm_90a": 90, or 0 for what is no architecture.
int number_of(std::string_view arch) {
  for (const std::string_view prefix : {"sm_", "compute_"})
    if (arch.starts_with(prefix)) arch.remove_prefix(prefix.size());
  int number = 0;
  std::from_chars(arch.data(), arch.data() + arch.size(), number);
  return number;
}

}  // namespace

Nvrtc::Nvrtc() {
  auto library = std::make_unique<Library>();
  const auto refusal = [&](void* handle, const std::string&) -> std::string {
    const std::string missing = library->open(handle);
    if (library->version == nullptr || library->version(&major_, &minor_) != NVRTC_SUCCESS)
      return "does not say its version";
    if (std::pair(major_, minor_) < std::pair(least_major, least_minor))
      return fmt::format("is version {}, and {}.{} or later is needed", version(), least_major, least_minor);
    return missing.empty() ? "" : "has no function " + missing;
  };
  const FoundLibrary found = find_library(
      {"NVRTC", "SINTER_NVRTC", settings().nvrtc, {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}},
      refusal);
  reason_ = found.reason;
  path_ = found.path;
  if (found.handle == nullptr) return;
  load_builtins(path_, major_, minor_);
  hold_freed_memory();
  int count = 0;
  if (library->arch_count(&count) == NVRTC_SUCCESS && count > 0) {
    architectures_.resize(static_cast<std::size_t>(count));
    library->archs(architectures_.data());
  }
  std::ranges::sort(architectures_);
  library_ = std::move(library);
}

Nvrtc::~Nvrtc() = default;

std::string Nvrtc::version() const {
  return fmt::format("{}.{}", major_, minor_);
}

std::string Nvrtc::code_for(std::string_view arch) const {
  if (!usable()) fail<DeviceError>("CUDA kernels cannot be compiled: {}", reason_);
  const int wanted = number_of(arch);
  if (wanted == 0) fail<ValueError>("'{}' is not an architecture such as sm_90a", arch);
  if (arch.starts_with("sm_") && std::ranges::binary_search(architectures_, wanted)) return std::string(arch);
  const auto newer = std::ranges::upper_bound(architectures_, wanted);
  if (newer == architectures_.begin())
    fail<DeviceError>("{} is older than all that NVRTC {} compiles for; the oldest is sm_{}", arch, version(),
                      architectures_.empty() ? 0 : architectures_.front());
  return fmt::format("compute_{}", *std::prev(newer));
}

std::vector<std::string> Nvrtc::option_list() const {
  std::vector<std::string> options{"--std=c++20", "--fmad=false", "--minimal", "--disable-warnings",
                                   "--ptxas-options=-v"};
  // What the driver keeps of earlier compilations follows other rules than our cache.
  if (major_ >= 13) options.emplace_back("--no-cache");
  return options;
}

std::string Nvrtc::options() const {
  return fmt::format("{}, and where few registers spill {}", fmt::join(option_list(), " "),
                     fmt::join(room_for_one_block, " "));
}

namespace {

[[noreturn]] void fail_to_compile(const std::string& kernel, const std::string& source,
                                  const std::string& outcome, const std::string& log,
                                  const std::string& code) {
  PrivateDirectory directory;
  directory.keep();
  const std::string stem = directory.path() + "/" + file_stem(kernel);
  write_new_file(stem + ".cu", source);
  write_new_file(stem + ".log", log);
  const FirstError error = find_first_error(log, file_stem(kernel) + ".cu", source);
  std::string text = fmt::format("kernel {}: NVRTC {}\n  {}", kernel, outcome, error.message);
  if (error.line > 0) text += fmt::format("\n  line {}: {}", error.line, error.code);
  const std::string kind = code.starts_with("sm_") ? "cubin" : "ptx";
  fail<CompileError>("{}\n  source: {}.cu\n  log: {}.log\n  repeat: {}", text, stem, stem,
                     quoted({"nvcc", "-std=c++20", "--fmad=false", "-arch=" + code, "-" + kind, stem + ".cu",
                             "-o", stem + "." + kind}));
}

}  // namespace

/// How one run of the compiler ended.
struct Nvrtc::Outcome {
  nvrtcResult result = NVRTC_SUCCESS;
  CudaCode made;
};

Nvrtc::Outcome Nvrtc::run(const std::string& kernel, const std::string& source, const std::string& code,
                          std::vector<std::string> options) const {
  return in_new_thread([&] { return run_here(kernel, source, code, std::move(options)); });
}

Nvrtc::Outcome Nvrtc::run_here(const std::string& kernel, const std::string& source, const std::string& code,
                               std::vector<std::string> options) const {
  options.push_back("--gpu-architecture=" + code);
  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());

  Outcome outcome;
  nvrtcProgram program = nullptr;
  const std::string file = file_stem(kernel) + ".cu";
  outcome.result = library_->create(&program, source.c_str(), file.c_str(), 0, nullptr, nullptr);
  if (outcome.result != NVRTC_SUCCESS) return outcome;
  const auto destroy = [&](nvrtcProgram* p) { library_->destroy(p); };
  const std::unique_ptr<nvrtcProgram, decltype(destroy)> owner(&program, destroy);

  const std::int64_t limit = settings().compile_timeout;
  Deadline deadline{std::chrono::steady_clock::now() + std::chrono::seconds(limit)};
  if (limit > 0) library_->set_callback(program, &Deadline::passed, &deadline);
  outcome.result = library_->compile(program, static_cast<int>(arguments.size()), arguments.data());

  CudaCode& made = outcome.made;
  made.log = without_zero(text_of(program, library_->log_size, library_->log));
  if (outcome.result != NVRTC_SUCCESS) return outcome;
  made.ptx = without_zero(text_of(program, library_->ptx_size, library_->ptx));
  made.image = code.starts_with("sm_") ? text_of(program, library_->cubin_size, library_->cubin) : made.ptx;
  return outcome;
}

CudaCode Nvrtc::compile(const std::string& kernel, const std::string& source, const std::string& arch) const {
  const std::string code = code_for(arch);
  std::vector<std::string> options = option_list();
  Outcome first = run(kernel, source, code, options);
  const std::string& log = first.made.log;
  if (first.result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE || log.find("libnvrtc-builtins") != log.npos)
    fail<DeviceError>(
        "kernel {}: NVRTC {} ({}) does not find its builtins, libnvrtc-builtins.so.{}, which belong beside "
        "it: {}; install the CUDA toolkit again, or set SINTER_NVRTC to a whole one",
        kernel, version(), path_, version(), log);
  if (first.result == NVRTC_ERROR_CANCELLED)
    fail_to_compile(kernel, source,
                    fmt::format("took longer than {} s (SINTER_COMPILE_TIMEOUT={})",
                                settings().compile_timeout, settings().compile_timeout),
                    log, code);
  if (first.made.image.empty())
    fail_to_compile(kernel, source, fmt::format("says {}", library_->error_text(first.result)), log, code);

  const auto spills = [](const CudaCode& made) {
    const auto report = read_ptxas_report(made.log);
    return report ? report->spill_bytes : 0;
  };
  if (spills(first.made) == 0 || spills(first.made) > few_bytes) return std::move(first.made);
  options.insert(options.end(), room_for_one_block.begin(), room_for_one_block.end());
  Outcome second = run(kernel, source, code, options);
  first.made.compilations = second.made.compilations = 2;
  return !second.made.image.empty() && spills(second.made) < spills(first.made) ? std::move(second.made)
                                                                                : std::move(first.made);
}

void Nvrtc::warm_up(const std::string& arch) const {
  compile("warm_up", codegen::prelude(usual_kernel, codegen::Backend::cuda) + std::string(usual_kernel),
          arch);
}

const Nvrtc& nvrtc() {
  // Never destroyed: kernels may be compiled by threads that outlive main().
  static const Nvrtc& found = *new Nvrtc;
  return found;
}

std::jthread start_nvrtc(std::string arch) {
  try {
    return std::jthread([arch = std::move(arch)] {
      try {
        if (nvrtc().usable()) nvrtc().warm_up(arch);
      } catch (const std::exception&) {
      }
    });
  } catch (const std::system_error&) {  // no thread is to be had
    return {};
  }
}

}  // namespace sinter::runtime
