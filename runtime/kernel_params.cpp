#include "runtime/kernel_params.h"

#include <algorithm>

#include "codegen/batch.h"
#include "ir/base/check.h"

namespace sinter::runtime {

std::vector<std::byte> constant_params(const codegen::KernelSource& source) {
  using Kind = codegen::KernelParam::Kind;
  std::vector<std::byte> block(static_cast<std::size_t>(source.param_bytes));
  for (const codegen::KernelParam& p : source.params) {
    if (p.kind == Kind::length && source.index_bytes == 8) {
      put_param(block, p.offset, p.length.value());
    } else if (p.kind == Kind::length) {
      const auto narrow = static_cast<std::int32_t>(p.length.value());
      SINTER_ASSERT(narrow == p.length.value(), "{}: {} = {} does not fit the kernel's index", source.name,
                    p.name, p.length.value());
      put_param(block, p.offset, narrow);
    } else if (p.kind == Kind::literal) {
      std::memcpy(block.data() + p.offset, &p.literal.bits,
                  static_cast<std::size_t>(size_of(p.literal.dtype)));
    }
  }
  return block;
}

void place_scratch(const codegen::KernelSource& source, KernelLaunch& launch) {
  std::vector<std::size_t> places;
  for (const codegen::ScratchArray& array : source.scratch) {
    std::size_t& bytes = array.counters ? launch.counter_bytes : launch.scratch_bytes;
    places.push_back(bytes);
    bytes += static_cast<std::size_t>((array.elements.value() * array.element_bytes + 63) / 64 * 64);
  }
  for (const codegen::KernelParam& p : source.params)
    if (p.kind == codegen::KernelParam::Kind::scratch) {
      const auto array = static_cast<std::size_t>(p.buffer);
      launch.scratch.push_back({p.offset, places[array], source.scratch[array].counters});
    }
}

void put_scratch(const KernelLaunch& launch, std::span<std::byte> params, std::byte* working,
                 std::byte* counters) {
  for (const ScratchPointer& p : launch.scratch)
    put_param(params, p.offset, (p.counters ? counters : working) + p.at);
}

std::vector<std::byte> batch_params(std::span<const codegen::KernelSource* const> sources) {
  const int bytes = sources[0]->param_bytes, batch = sources[0]->schedule.batch;
  const auto places = static_cast<std::size_t>(batch);
  SINTER_ASSERT(sources.size() <= places, "{} instances, and the text of {} takes {}", sources.size(),
                sources[0]->name, batch);
  std::vector<std::byte> block(static_cast<std::size_t>(codegen::batch_bytes(batch, bytes)));
  std::uint32_t first = 0;
  for (std::size_t i = 0; i <= places; ++i) {
    put_param(block, codegen::first_blocks_offset(batch, bytes) + 4 * static_cast<int>(i), first);
    if (i >= sources.size()) continue;
    std::ranges::copy(constant_params(*sources[i]), block.begin() + static_cast<std::ptrdiff_t>(i) * bytes);
    first += static_cast<std::uint32_t>(sources[i]->units.value());
  }
  return block;
}

}  // namespace sinter::runtime
