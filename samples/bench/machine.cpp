#include "samples/bench/machine.h"

#include <sinter/doctor.h>

#include <ctime>
#include <fstream>
#include <thread>

namespace bench {
namespace {

std::string finding(const std::string& subject) {
  for (const sinter::Finding& f : sinter::examine_machine())
    if (f.subject == subject) return f.value;
  return "unknown";
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::string text(10, '\0');
  std::strftime(text.data(), text.size() + 1, "%Y-%m-%d", &parts);
  return text;
}

}  // namespace

int thread_count() {
  return std::stoi(finding("threads"));
}

std::vector<std::string> describe_machine(const sinter::Device& device) {
  std::vector<std::string> lines{"processor: " + processor(),
                                 "cores: " + std::to_string(std::thread::hardware_concurrency()) +
                                     ", threads used: " + finding("threads"),
                                 "sinter: " + finding("sinter")};
  if (device.is_gpu()) {
    lines.insert(lines.begin(), "GPU: " + device.description() + " (" + device.architecture() + ")");
    for (const char* subject : {"CUDA driver", "NVRTC", "cuBLASLt"})
      lines.push_back(std::string(subject) + ": " + finding(subject));
  } else {
    lines.push_back("compiler: " + finding("C++ compiler"));
    lines.push_back("OpenBLAS: " + finding("OpenBLAS"));
  }
  lines.push_back("date: " + today());
  return lines;
}

}  // namespace bench
