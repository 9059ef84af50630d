#include "api/common/collect.h"

#include <algorithm>

#include "api/common/answer_size.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"

namespace cay::api {
namespace {

struct Streams {
  explicit Streams(std::uint64_t most) : out(most), err(most) {}
  codec::KeptOutput& of(Stream stream) { return stream == Stream::kStdout ? out : err; }

  codec::KeptOutput out, err;
};

void keep(Collected& to, Streams& streams, const core::OutputData& data,
          core::AnswerRoom::Part& part) {
  const std::uint64_t all = streams.out.held() + streams.err.held();
  streams.of(data.stream).add(data.offset, data.bytes);
  const std::uint64_t now = streams.out.held() + streams.err.held();
  to.too_large = now > kMostAnswer;
  to.no_room = !to.too_large && now > all && !part.need(now);
  if (!to.too_large && !to.no_room) return;
  Streams none(0);
  std::swap(streams, none);  // an assignment would keep the memory
  part.hold(0);
}

}  // namespace

std::uint64_t bytes_at_end(const StreamExtent& extent) { return extent.end_offset; }

Task<Collected> collect(core::Reader reader, std::uint64_t most, AnswerPart part) {
  Collected out;
  Streams streams(most);
  for (;;) {
    auto event = co_await reader->next();
    if (!event) co_return std::move(event).error();
    if (auto* end = std::get_if<core::OutputEnd>(&*event)) {
      out.command = std::move(end->command);
      break;
    }
    if (out.too_large || out.no_room) continue;
    if (const auto* data = std::get_if<core::OutputData>(&*event)) {
      keep(out, streams, *data, *part);
    } else if (const auto* gap = std::get_if<core::OutputGap>(&*event)) {
      streams.of(gap->stream).add_gap(gap->offset, gap->length);
    }
  }
  auto kept_out = streams.out.take();
  auto kept_err = streams.err.take();
  out.out = std::move(kept_out.bytes);
  out.err = std::move(kept_err.bytes);
  out.out_gap = kept_out.gap;
  out.err_gap = kept_err.gap;
  out.truncated = out.out_gap || out.err_gap || out.too_large || out.no_room;
  co_return out;
}

Error output_not_held(const std::string& ran, const std::string& where) {
  return {Code::kNotReady, "output_not_held",
          ran +
              ", but its output has no room beside your other answers that are being made, or that "
              "nobody has read yet: " +
              where,
          0};
}

}  // namespace cay::api
