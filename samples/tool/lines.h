// Work that comes line by line, from a file or a program that waits for the answers.
#pragma once

#include <functional>
#include <string>

namespace tool {

/// Prints what `answer` gives for every line of the file, or of standard input for "-", as soon as it has it.
/// A line whose answer throws gets a JSON object with the message as its `error`. Empty lines are passed
/// over.
void for_each_line(const std::string& file, const std::function<std::string(const std::string&)>& answer);

}  // namespace tool
