#include "api/langsmith/text_output.h"

#include "core/ports/runtime.h"

namespace cay::api::langsmith {
namespace {

Error misplaced(std::uint64_t offset) {
  return {Code::kInternal, "misplaced_output",
          "output arrived at an unexpected offset, " + std::to_string(offset), 0};
}

}  // namespace

Result<std::vector<TextPiece>> TextOutput::take(const core::OutputData& data) {
  std::vector<TextPiece> pieces;
  One& to = one(data.stream);
  to.over = to.over || data.after_end;
  if (!to.over && !to.text.feed(data.offset, data.bytes, pieces)) return misplaced(data.offset);
  return pieces;
}

Result<std::vector<TextPiece>> TextOutput::take(const core::OutputGap& gap) {
  std::vector<TextPiece> pieces;
  One& to = one(gap.stream);
  if (!to.over && !to.text.skip(gap.offset, gap.length, pieces)) return misplaced(gap.offset);
  return pieces;
}

std::vector<TextPiece> TextOutput::finish(Stream stream) {
  std::vector<TextPiece> pieces;
  one(stream).text.finish(pieces);
  return pieces;
}

}  // namespace cay::api::langsmith
