#include "frontend/dot_writer.h"

#include <fmt/format.h>
#include <graphviz/cgraph.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "ir/base/check.h"

namespace sinter::frontend {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

// libcgraph takes char* and writes to none of them.
char* text_of(const std::string& s) {
  return const_cast<char*>(s.c_str());
}
char* text_of(const char* s) {
  return const_cast<char*>(s);
}

/// Bytes of the valid UTF-8 character at the front, 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                                                           : 4;
  if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates, and what is beyond U+10FFFF.
  if (length > 2 && ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0) ||
                     (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) >= 0x90)))
    return 0;
  return length;
}

}  // namespace

std::string dot_label(std::string_view text, std::size_t longest) {
  std::string label;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == longest) return label + "...";
    const std::size_t length = character_length(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (length == 0 || byte < 0x20 || byte == 0x7f)
      label += byte == '\n' ? "\\\\n" : fmt::format("\\\\x{:02x}", byte);
    else if (byte == '\\')
      label += "\\\\";
    else if (byte == '&')
      label += "&amp;";
    else
      label += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return label;
}

DotWriter::DotWriter() {
  library_mutex().lock();
  root_ = agopen(text_of("sinter"), Agdirected, nullptr);
}

DotWriter::~DotWriter() {
  agclose(root_);
  library_mutex().unlock();
}

DotWriter::Graph DotWriter::cluster(const std::string& id) {
  return agsubg(root_, text_of(id), 1);
}

DotWriter::Node DotWriter::node(Graph in, const std::string& id) {
  return agnode(in, text_of(id), 1);
}

DotWriter::Edge DotWriter::edge(Node from, Node to) {
  return agedge(root_, from, to, nullptr, 1);
}

void DotWriter::set(void* object, const char* attribute, const std::string& value) {
  agsafeset(object, text_of(attribute), text_of(value), text_of(""));
}

void DotWriter::set_all_nodes(const char* attribute, const std::string& value) {
  agattr(root_, AGNODE, text_of(attribute), text_of(value));
}

void DotWriter::set_all_edges(const char* attribute, const std::string& value) {
  agattr(root_, AGEDGE, text_of(attribute), text_of(value));
}

std::string DotWriter::text() const {
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&data, &size);
  if (!stream) fail<ValueError>("no memory for the DOT text");
  const int status = agwrite(root_, stream);
  std::fclose(stream);
  const std::unique_ptr<char, decltype(&std::free)> owned(data, std::free);
  SINTER_ASSERT(status == 0, "libcgraph could not write the graph");
  return {data, size};
}

}  // namespace sinter::frontend
