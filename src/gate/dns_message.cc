#include "gate/dns_message.h"

#include <algorithm>

#include "base/ascii.h"

namespace cay::gate {
namespace {

constexpr std::size_t kHeader = 12;
constexpr std::size_t kMostLabel = 63;
constexpr std::size_t kMostName = 255;  // with length bytes and the root's
constexpr std::uint16_t kOpt = 41;
constexpr std::size_t kLeastRoom = 512;
constexpr std::size_t kMostRoom =
    1232;  // what crosses every path unbroken; the field's agreement of 2020
constexpr std::uint16_t kExtendedError = 15;
constexpr std::uint16_t kBlocked = 15;
constexpr std::size_t kMostWords = 200;
constexpr std::uint16_t kQueryResponse = 0x8000;
constexpr std::uint16_t kOpcode = 0x7800;
constexpr std::uint16_t kTruncated = 0x0200;
constexpr std::uint16_t kRecursionDesired = 0x0100;
constexpr std::uint16_t kRecursionAvailable = 0x0080;

std::uint16_t u16(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                    static_cast<unsigned char>(bytes[at + 1]));
}

void put16(std::string& out, std::size_t value) {
  out += static_cast<char>(value >> 8 & 0xff);
  out += static_cast<char>(value & 0xff);
}

void put32(std::string& out, std::uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}

// In words that cannot be taken for another name's when they are shown: no dot, quote or line break
// of a label's own.
void put_escaped(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  out += '\\';
  for (const int unit : {100, 10, 1}) out += static_cast<char>('0' + byte / unit % 10);
}

// Reads a name without compression; false: broken.
bool read_name(std::string_view bytes, std::size_t& at, DnsQuestion& out) {
  const std::size_t begin = at;
  for (;;) {
    if (at >= bytes.size()) return false;
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[at++]));
    if (length == 0) return true;
    if (length > kMostLabel || at + length > bytes.size() || at + length + 1 - begin > kMostName)
      return false;
    if (!out.name.empty()) out.name += '.';
    for (const char c : bytes.substr(at, length)) {
      if (is_letter(c) || is_digit(c) || c == '-' || c == '_') {
        out.name += lower(c);
      } else {
        out.plain = false;
        put_escaped(out.name, c);
      }
    }
    at += length;
  }
}

// An OPT record right behind the question, which is where every asker puts it.
void read_opt(std::string_view bytes, std::size_t at, DnsQuestion& out) {
  if (at + 11 > bytes.size() || bytes[at] != 0 || u16(bytes, at + 1) != kOpt) return;
  out.has_opt = true;
  out.room = std::clamp<std::size_t>(u16(bytes, at + 3), kLeastRoom, kMostRoom);
}

std::string opt_record(const std::string& blocked) {
  std::string data;
  if (!blocked.empty()) {
    const std::string words = blocked.substr(0, kMostWords);
    put16(data, kExtendedError);
    put16(data, 2 + words.size());
    put16(data, kBlocked);
    data += words;
  }
  std::string out(1, '\0');
  put16(out, kOpt);
  put16(out, kMostRoom);
  put32(out, 0);
  put16(out, data.size());
  return out + data;
}

}  // namespace

std::optional<DnsQuestion> parse_question(std::string_view message) {
  if (message.size() < kHeader + 5) return std::nullopt;
  const std::uint16_t flags = u16(message, 2);
  if ((flags & (kQueryResponse | kOpcode)) != 0 || u16(message, 4) != 1) return std::nullopt;
  DnsQuestion out;
  out.id = u16(message, 0);
  out.recursion_desired = (flags & kRecursionDesired) != 0;
  std::size_t at = kHeader;
  if (!read_name(message, at, out) || at + 4 > message.size()) return std::nullopt;
  out.type = u16(message, at);
  out.klass = u16(message, at + 2);
  at += 4;
  out.wire = message.substr(kHeader, at - kHeader);
  if (u16(message, 6) == 0 && u16(message, 8) == 0 && u16(message, 10) > 0)
    read_opt(message, at, out);
  return out;
}

std::string encode_answer(const DnsQuestion& question, const DnsAnswer& answer, std::size_t room) {
  std::string records;
  std::size_t count = 0;
  for (const IpAddress& address : answer.addresses) {
    const bool wanted =
        question.type == (address.is_v4() ? kDnsA : kDnsAaaa) && question.klass == kDnsInternet;
    if (!wanted) continue;
    put16(records, 0xc00c);  // the question's name
    put16(records, question.type);
    put16(records, question.klass);
    put32(records, answer.ttl);
    const auto* bytes = address.is_v4() ? address.v4_bytes().data() : address.bytes().data();
    const std::size_t size = address.is_v4() ? 4 : 16;
    put16(records, size);
    records.append(reinterpret_cast<const char*>(bytes), size);
    ++count;
  }
  std::string opt = question.has_opt ? opt_record(answer.blocked) : std::string();
  std::uint16_t flags = kQueryResponse | kRecursionAvailable;
  if (question.recursion_desired) flags |= kRecursionDesired;
  if (kHeader + question.wire.size() + records.size() + opt.size() > room) {
    flags |= kTruncated;
    records.clear();
    count = 0;
    if (kHeader + question.wire.size() + opt.size() > room) opt.clear();
  }
  std::string out;
  put16(out, question.id);
  put16(out, static_cast<std::size_t>(flags) | static_cast<std::size_t>(answer.code));
  put16(out, 1);
  put16(out, count);
  put16(out, 0);
  put16(out, opt.empty() ? 0 : 1);
  return out + question.wire + records + opt;
}

}  // namespace cay::gate
