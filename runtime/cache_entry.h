// The file format of the kernel cache: a header, the full text of the key, the content.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sinter::runtime {

/// Name of the file in which an entry with that key stands: a hash of the key in hex digits, and a suffix.
std::string entry_file_name(std::string_view key);

/// Whether a file of this name can be an entry.
bool is_entry_file_name(std::string_view file);

/// The whole file for a key and its content.
std::string encode_entry(std::string_view key, std::string_view content);

struct DecodedEntry {
  std::string_view key, content;  // parts of the file given
};

/// The parts of an entry's file; nothing if the file is not exactly what encode_entry made.
std::optional<DecodedEntry> decode_entry(std::string_view file);

/// Opens the entry `file` in `directory` and reads it whole. Nothing if it cannot be opened, and an empty
/// text if what is there is no plain file that this user alone can write: a link, a fifo, a directory,
/// another user's.
std::optional<std::string> read_entry_file(int directory, const std::string& file);

}  // namespace sinter::runtime
