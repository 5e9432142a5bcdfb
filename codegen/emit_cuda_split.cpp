// Rows of the CUDA dialect that several blocks share. Each folds a piece of a row, or of a tile of columns,
// and leaves its states in working memory; the block that finishes last joins them, in the order of the
// pieces and not of the blocks' finishing, and goes on with what is done once per row.
#include "codegen/emit_cuda.h"
#include "codegen/team.h"
#include "ir/base/check.h"

namespace sinter::codegen {

/// What piece of which row or tile of columns a block has.
void CudaEmitter::place_piece(KernelSource& source, std::int64_t pieces, const ir::Dim& tiles,
                              int multiple_of) {
  const ir::Dim span = row_vectors_of(k_, inner_, vector_, schedule_.skewed).span;
  piece_ = piece_length(span.value(), pieces, multiple_of);
  const std::string n_pieces = body_.length(pieces, "n_pieces"), n_piece = body_.length(piece_, "n_piece");
  source.unit_elements = piece_;
  pieces_ = n_pieces;
  if (lanes_ > 0) {
    // Neighbouring blocks have neighbouring columns.
    const std::string n_tiles = body_.length(tiles, "n_tiles");
    lines_.add(fmt::format("const index tile = (index)blockIdx.x % {};", n_tiles));
    lines_.add(fmt::format("const index piece = (index)blockIdx.x / {};", n_tiles));
  } else {
    lines_.add(fmt::format("const index u = (index)blockIdx.x / {};", n_pieces));
    lines_.add(fmt::format("const index piece = (index)blockIdx.x % {};", n_pieces));
    place_row();
  }
  lines_.add(fmt::format("const index piece_begin = piece * {};", n_piece));
  lines_.add(fmt::format("const index piece_end = piece == {} - 1 ? {} : piece_begin + {};", n_pieces,
                         lanes_ > 0 ? row_length_ : walk_end_, n_piece));
  walk_begin_ = "piece_begin";
  walk_end_ = "piece_end";
}

void CudaEmitter::place_split_rows(KernelSource& source, const Staging& staging, std::int64_t pieces) {
  source.units = k_.rows() * ir::Dim(pieces);
  place_piece(source, pieces, k_.rows(), warp_threads * vector_);
  declare_pieces(source, staging.walks.at(0).folds, k_.rows() * ir::Dim(pieces), k_.rows());
  lines_.add("const int t = (int)threadIdx.x;");
}

/// Working memory: of every piece each part of its states, and a counter for each row or tile.
void CudaEmitter::declare_pieces(KernelSource& source, const std::vector<int>& folds, const ir::Dim& states,
                                 const ir::Dim& counters) {
  const auto add = [&](const std::string& name, const std::string& type, const ScratchArray& array) {
    source.scratch.push_back(array);
    body_.scratch(name, type, static_cast<int>(source.scratch.size()) - 1);
  };
  for (const FoldPart& p : parts(folds)) add("pieces" + p.name, p.stored, {stored_bytes(p), states, false});
  add("counters", "uint32", {4, counters, true});
}

void CudaEmitter::exchange_pieces(const std::vector<int>& folds) {
  const std::vector<FoldPart> all = parts(folds);
  lines_.add("#pragma unroll 1");
  lines_.open("for (bool joined = false;; joined = true) {");
  if (lanes_ > 0)
    exchange_columns(folds);
  else
    exchange_rows(folds);
  lines_.add("if (joined) break;");
  lines_.open("if (t == 0) {");
  if (lanes_ > 0) open_columns();
  for (const FoldPart& p : all)
    lines_.add(lanes_ > 0 ? fmt::format("pieces{0}[{1}] = folds{0}[k];", p.name, state_place("piece"))
                          : fmt::format("pieces{0}[{1}] = fold{0};", p.name, state_place("piece")));
  if (lanes_ > 0) lines_.close();
  lines_.close();
  lines_.add(fmt::format("if (!arrive_last(counters + {}, (uint32){})) return;", lanes_ > 0 ? "tile" : "u",
                         pieces_));
  if (lanes_ > 0)
    reset_states(folds, "fold");
  else
    for (const FoldPart& p : all) lines_.add(fmt::format("fold{} = {};", p.name, p.identity));
  lines_.add(lanes_ > 0 ? "#pragma unroll 2" : "#pragma unroll 4");  // of columns a thread has a vector
  lines_.open(fmt::format("for (index at = t; at < {}; at += {}) {{", pieces_, team_));
  if (lanes_ > 0) {
    open_columns();
    name_states(folds, "fold");
  }
  for (const FoldPart& p : all)
    lines_.add(fmt::format("const {} other{} = {};", p.type, p.name,
                           from_stored(p, fmt::format("pieces{}[{}]", p.name, state_place("at")))));
  for (int v : folds) merge(v, "fold", "other");
  if (lanes_ > 0) lines_.close();
  lines_.close();
  lines_.close();
}

/// Where the states of a piece lie.
std::string CudaEmitter::state_place(const std::string& piece) const {
  if (lanes_ == 0) return fmt::format("u * {} + {}", pieces_, piece);
  return fmt::format("(({} * n_tiles + tile) * {} + k) * {} + lane", piece, vector_, lanes_);
}

int CudaEmitter::stored_bytes(const FoldPart& p) const {
  if (p.stored == "index") return schedule_.wide_index ? 8 : 4;
  for (DType t : all_dtypes)
    if (stored_type_name(t) == p.stored) return size_of(t);
  return 8;
}

}  // namespace sinter::codegen
