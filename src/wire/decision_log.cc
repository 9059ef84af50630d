#include "wire/decision_log.h"

#include "wire/checked_frame.h"

namespace cay::wire {
namespace {

// The members that are read of entries outside the request.
struct Mark {
  std::uint64_t number = 0;
  std::uint8_t kind = 0;
  template <class V>
  void fields(V& v) {
    v(1, number);
    v(2, kind);
  }
};

bool is_known(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(DecidedKind::kConnection) &&
         kind <= static_cast<std::uint8_t>(DecidedKind::kRestart);
}

}  // namespace

std::string decided_frame(const DecidedMsg& decided) {
  std::string out;
  append_checked(out, encode(decided));
  return out;
}

DecidedRead read_decided(std::string_view file, std::uint64_t after, std::size_t most) {
  DecidedRead out;
  if (!file.starts_with(kDecisionLogHead)) return out;
  out.good = kDecisionLogHead.size();
  for (;;) {
    const std::string_view rest = file.substr(out.good);
    const auto length = checked_length(rest);
    if (!length || *length > kMostDecidedFrame) return out;
    const auto payload = first_checked(rest);
    const auto mark = payload ? decode<Mark>(*payload) : std::nullopt;
    if (!mark) return out;
    out.good += kCheckedHead + *length;
    out.closed = mark->kind == static_cast<std::uint8_t>(DecidedKind::kClosed);
    // A kind of a later release has a number, which was given.
    if (out.closed || mark->number <= out.last || mark->number > kMostDecidedNumber) continue;
    if (out.oldest == 0) out.oldest = mark->number;
    out.last = mark->number;
    if (mark->number <= after || out.items.size() >= most || !is_known(mark->kind)) continue;
    auto decided = decode<DecidedMsg>(*payload);
    if (decided) out.items.push_back(*std::move(decided));
  }
}

}  // namespace cay::wire
