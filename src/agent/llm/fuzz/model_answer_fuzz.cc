// The answer of a model's server, in each of the three formats. However it is cut, it gives the
// same message, the same pieces and the same failure.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/llm/answer_parser.h"
#include "base/assert.h"
#include "tests/fuzz/pieces.h"

namespace {

using cay::agent::ModelReply;

std::unique_ptr<cay::agent::WireFormat> format_of(std::uint8_t which) {
  if (which % 3 == 0) return cay::agent::chat_completions_format();
  return which % 3 == 1 ? cay::agent::responses_format() : cay::agent::anthropic_format();
}

// All but ids: those that the server leaves out are random.
std::string shown(const ModelReply& reply) {
  std::string out = reply.message.text() + "|" + reply.model + "|" +
                    std::to_string(static_cast<int>(reply.stop)) + "|" +
                    std::to_string(reply.usage.input) + "|" + std::to_string(reply.usage.output);
  for (const auto& call : reply.message.calls) {
    CAY_ASSERT(!call.id.empty() && !call.arguments.empty());
    out += "|" + call.name + call.arguments;
  }
  return out;
}

std::string answer_of(std::uint8_t which, cay::fuzz::Pieces body) {
  std::string out;
  cay::agent::OnDelta on_delta = [&out](const cay::agent::Delta& delta) {
    out += std::to_string(static_cast<int>(delta.kind)) + delta.text;
  };
  cay::agent::AnswerParser parser(format_of(which)->reader(std::move(on_delta)));
  for (std::string_view piece = body.next(); !piece.empty(); piece = body.next()) {
    auto fed = parser.feed(piece);
    if (!fed) return out + "|" + fed.error().reason + fed.error().message;
  }
  auto reply = parser.finish();
  if (!reply) return out + "|" + reply.error().reason + reply.error().message;
  return out + "|" + shown(*reply);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view in(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string whole = answer_of(data[0], cay::fuzz::Pieces(in));
  const std::string cut = answer_of(data[0], cay::fuzz::Pieces(in, data[1]));
  CAY_ASSERT(whole == cut);
  static_cast<void>(cay::agent::to_error(cay::agent::vendor_error_of_body(data[0], in)));
  return 0;
}
