#include "codec/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cay::codec {
namespace {

// Well-formed sequences (Unicode 15, table 3-7), by their first byte: how many bytes, and what the
// second may be. Later ones are 80..BF.
struct Lead {
  std::size_t length = 0;  // 0: no sequence starts with it
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // nothing above U+10FFFF
  return {};
}

struct Step {
  std::size_t bytes = 0;  // of a whole character or of a maximal ill-formed subpart
  enum { kGood, kBad, kIncomplete } kind = kGood;
};

Step step(std::string_view in) {
  const Lead lead = lead_of(static_cast<unsigned char>(in[0]));
  if (lead.length == 0) return {1, Step::kBad};
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == in.size()) return {i, Step::kIncomplete};
    const auto byte = static_cast<unsigned char>(in[i]);
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {i, Step::kBad};
  }
  return {lead.length, Step::kGood};
}

std::size_t ascii_run(std::string_view in) {
  std::size_t at = 0;
  std::uint64_t word = 0;
  while (at + sizeof word <= in.size()) {
    std::memcpy(&word, in.data() + at, sizeof word);
    if (word & 0x8080808080808080u) break;
    at += sizeof word;
  }
  while (at < in.size() && static_cast<unsigned char>(in[at]) < 0x80) ++at;
  return at;
}

constexpr std::size_t kMostBroken = 3;  // bytes of a character that is not whole

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    bytes.remove_prefix(ascii_run(bytes));
    if (bytes.empty()) break;
    const Step got = step(bytes);
    if (got.kind != Step::kGood) return false;
    bytes.remove_prefix(got.bytes);
  }
  return true;
}

std::string sanitised_utf8(std::string_view bytes) {
  std::string out;
  Utf8Sanitiser sanitiser;
  sanitiser.feed(bytes, out);
  sanitiser.finish(out);
  return out;
}

void Utf8Sanitiser::feed(std::string_view bytes, std::string& out) {
  // Finish what was held back, one byte at a time: at most three.
  while (held_ > 0 && !bytes.empty()) {
    pending_[held_] = bytes.front();
    const Step got = step(std::string_view(pending_, held_ + 1));
    if (got.kind == Step::kIncomplete) {
      ++held_;
      bytes.remove_prefix(1);
    } else if (got.kind == Step::kGood) {
      out.append(pending_, got.bytes);
      held_ = 0;
      bytes.remove_prefix(1);
    } else {
      out.append(kReplacement);  // the held bytes are one subpart; this byte starts anew
      held_ = 0;
    }
  }
  while (!bytes.empty()) {
    const std::size_t plain = ascii_run(bytes);
    out.append(bytes.substr(0, plain));
    bytes.remove_prefix(plain);
    if (bytes.empty()) break;
    const Step got = step(bytes);
    if (got.kind == Step::kIncomplete) {
      std::memcpy(pending_, bytes.data(), bytes.size());
      held_ = bytes.size();
      break;
    }
    if (got.kind == Step::kGood) {
      out.append(bytes.substr(0, got.bytes));
    } else {
      out.append(kReplacement);
    }
    bytes.remove_prefix(got.bytes);
  }
}

void Utf8Sanitiser::finish(std::string& out) {
  if (held_ > 0) out.append(kReplacement);
  held_ = 0;
}

std::size_t next_boundary(std::string_view valid, std::size_t at) {
  while (at < valid.size() && is_continuation(valid[at])) ++at;
  return at < valid.size() ? at : valid.size();
}

std::size_t previous_boundary(std::string_view valid, std::size_t at) {
  if (at >= valid.size()) return valid.size();
  while (at > 0 && is_continuation(valid[at])) --at;
  return at;
}

std::size_t broken_end(std::string_view bytes) {
  for (std::size_t last = 1; last <= std::min(kMostBroken, bytes.size()); ++last) {
    const std::string_view end = bytes.substr(bytes.size() - last);
    if (is_continuation(end.front())) continue;
    return step(end).kind == Step::kIncomplete ? last : 0;
  }
  return 0;
}

std::size_t broken_begin(std::string_view bytes) {
  std::size_t first = 0;
  while (first < std::min(kMostBroken, bytes.size()) && is_continuation(bytes[first])) ++first;
  return first;
}

}  // namespace cay::codec
