#include "api/common/collect.h"

#include <algorithm>

#include "api/common/answer_size.h"

namespace cay::api {
namespace {

void drop(Collected& out, core::AnswerRoom::Part& part) {
  std::string().swap(out.out);
  std::string().swap(out.err);
  part.hold(0);
}

void keep(Collected& out, std::string& into, std::string_view bytes, std::uint64_t most, core::AnswerRoom::Part& part) {
  const std::uint64_t room = most > into.size() ? most - into.size() : 0;
  bytes = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size())));
  const std::uint64_t all = out.out.size() + out.err.size() + bytes.size();
  out.too_large = all > kMostAnswer;
  out.no_room = !out.too_large && !part.need(all);
  if (out.too_large || out.no_room) {
    drop(out, part);
  } else {
    into += bytes;
  }
}

}  // namespace

std::uint64_t bytes_at_end(const StreamExtent& extent) { return extent.end_offset; }

Task<Collected> collect(core::Reader reader, std::uint64_t most, AnswerPart part) {
  Collected out;
  std::uint64_t seen_out = 0;
  std::uint64_t seen_err = 0;
  bool gap_in_out = false, gap_in_err = false;  // what comes behind one would read as if it followed
  for (;;) {
    auto event = co_await reader->next();
    if (!event) co_return std::move(event).error();
    if (auto* data = std::get_if<core::OutputData>(&*event)) {
      const bool is_out = data->stream == Stream::kStdout;
      (is_out ? seen_out : seen_err) += data->bytes.size();
      if (out.too_large || out.no_room || (is_out ? gap_in_out : gap_in_err)) continue;
      keep(out, is_out ? out.out : out.err, data->bytes, most, *part);
    } else if (const auto* gap = std::get_if<core::OutputGap>(&*event)) {
      (gap->stream == Stream::kStdout ? gap_in_out : gap_in_err) = true;
      out.truncated = true;
    } else if (auto* end = std::get_if<core::OutputEnd>(&*event)) {
      out.command = std::move(end->command);
      break;
    }
  }
  out.truncated = out.truncated || seen_out > out.out.size() || seen_err > out.err.size();
  co_return out;
}

Error output_not_held(const std::string& ran, const std::string& where) {
  return {Code::kNotReady, "output_not_held",
          ran + ", but its output has no room beside your other answers that are being made, or that nobody has read yet: " + where, 0};
}

}  // namespace cay::api
