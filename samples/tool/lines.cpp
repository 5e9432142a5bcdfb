#include "samples/tool/lines.h"

#include <sinter/error.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "samples/tool/output.h"

namespace tool {

void for_each_line(const std::string& file, const std::function<std::string(const std::string&)>& answer) {
  std::ifstream opened;
  if (file != "-") {
    if (std::filesystem::is_directory(file)) throw sinter::ValueError(file + " is a directory");
    opened.open(file);
    if (!opened) throw sinter::ValueError(file + " cannot be read: " + std::strerror(errno));
  }
  std::istream& lines = file == "-" ? std::cin : opened;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::string text;
    try {
      text = answer(line);
    } catch (const std::exception& error) {
      text = nlohmann::json{{"error", error.what()}}.dump() + "\n";
    }
    print(text);
  }
}

}  // namespace tool
