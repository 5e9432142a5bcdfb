// Rows in shared memory whose blocks are no cluster, of the CUDA dialect. A block takes the next piece of all
// rows when it starts, and the blocks of a row send each other what they have folded through global memory.
// A block waits for pieces that were taken before its own or follow at once, and those that have them wait
// for nothing that has not started: so it goes on as long as the device holds as many blocks as a row has.
#include <bit>

#include "codegen/emit_cuda.h"
#include "codegen/team.h"
#include "ir/base/check.h"

namespace sinter::codegen {
namespace {

constexpr int word_bytes = 8;  // of a message, half of which says that it was sent

std::string of_exchange(const char* name, const std::vector<int>& folds) {
  return fmt::format("{}{}", name, folds.at(0));
}

}  // namespace

/// Words of what one block sends in an exchange.
int CudaEmitter::message_words(const std::vector<int>& folds) {
  int words = 0;
  for (const FoldPart& p : parts(folds)) words += stored_bytes(p) == word_bytes ? 2 : 1;
  return words;
}

void CudaEmitter::take_piece(KernelSource& source, const Staging& staging) {
  const ir::Dim all = k_.rows() * ir::Dim(sharers_);
  const auto add = [&](const std::string& name, const std::string& type, const ScratchArray& array) {
    source.scratch.push_back(array);
    body_.scratch(name, type, static_cast<int>(source.scratch.size()) - 1);
  };
  for (const Walk& w : staging.walks) {
    if (w.continues || w.folds.empty()) continue;
    add(of_exchange("messages", w.folds), "uint64",
        {word_bytes, all * ir::Dim(message_words(w.folds)), true});
    add(of_exchange("readers", w.folds), "uint32", {4, k_.rows(), true});
  }
  add("tickets", "uint32", {4, ir::Dim(1), true});
  source.together = sharers_;
  lines_.add(fmt::format("const index piece = (index)take_ticket(tickets, (uint32){});",
                         body_.length(all, "n_pieces")));
  lines_.add(fmt::format("const index u = piece / {};", sharers_));
  lines_.add(fmt::format("const int rank = (int)(piece % {});", sharers_));
}

/// What the blocks of a row have folded: the first warp of each sends its own and receives that of all, and
/// the block joins what has come, in the order of the pieces.
void CudaEmitter::exchange_messages(const std::vector<int>& folds) {
  const std::vector<FoldPart> all = parts(folds);
  const int words = message_words(folds);
  const int places = static_cast<int>(std::bit_ceil(static_cast<unsigned>(sharers_)));
  const std::string messages = of_exchange("messages", folds);
  for (const FoldPart& p : all)
    lines_.add(fmt::format("__shared__ {} blocks{}[{}];", p.stored, p.name, places));
  const auto each_part = [&](const std::string& call) {
    int at = 0;
    for (const FoldPart& p : all) {
      lines_.add(fmt::format(fmt::runtime(call), p.name, p.stored, at));
      at += stored_bytes(p) == word_bytes ? 2 : 1;
    }
  };
  lines_.open(fmt::format("if (t < {}) {{", warp_threads));
  lines_.add(fmt::format("uint32 halves[{}];", words));
  each_part("to_halves(({1})fold{0}, halves + {2});");
  lines_.add(fmt::format("if (t == 0) send({} + piece * {}, halves);", messages, words));
  lines_.add(fmt::format("const int from = t < {0} ? t : {0} - 1;", sharers_));
  lines_.add(fmt::format("receive({} + (u * {} + from) * {}, halves);", messages, sharers_, words));
  lines_.open(fmt::format("if (t < {}) {{", sharers_));
  each_part("from_halves(halves + {2}, blocks{0}[t]);");
  if (places > sharers_) {
    lines_.close();
    lines_.open(fmt::format("if (t >= {} && t < {}) {{", sharers_, places));
    for (const FoldPart& p : all) lines_.add(fmt::format("blocks{}[t] = {};", p.name, p.identity));
  }
  lines_.close();
  lines_.close();
  lines_.add("sync_block();");
  lines_.add(fmt::format("if (t == 0) clear_received({} + u * {}, {}, {} + u, {});", messages,
                         sharers_ * words, sharers_ * words, of_exchange("readers", folds), sharers_));
  for (const FoldPart& p : all)
    lines_.add(
        fmt::format("fold{} = {};", p.name, from_stored(p, fmt::format("blocks{}[t % {}]", p.name, places))));
  for (int v : folds) butterfly(v, places / 2);
}

}  // namespace sinter::codegen
