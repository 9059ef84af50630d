#include "api/common/tar_header.h"

#include <charconv>
#include <cstring>

namespace cay::api {
namespace {

// Layout of POSIX ustar (pax(1), "ustar Interchange Format").
struct Span {
  std::size_t at;
  std::size_t size;
};
constexpr Span kName{0, 100}, kMode{100, 8}, kUid{108, 8}, kGid{116, 8}, kSize{124, 12}, kMtime{136, 12},
    kSum{148, 8}, kLink{157, 100}, kMagic{257, 8}, kPrefix{345, 155};
constexpr std::size_t kType = 156;

std::string_view raw(std::string_view block, Span span) { return block.substr(span.at, span.size); }

std::string text(std::string_view block, Span span) {
  const std::string_view field = raw(block, span);
  return std::string(field.substr(0, field.find('\0')));
}

// Octal text, or GNU base-256 when the first bit is set.
std::optional<std::uint64_t> number(std::string_view field) {
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    if (static_cast<unsigned char>(field[0]) != 0x80) return std::nullopt;  // negative, or beyond 64 bits
    std::uint64_t value = 0;
    for (const char c : field.substr(1)) {
      if (value >> 55) return std::nullopt;
      value = (value << 8) | static_cast<unsigned char>(c);
    }
    return value;
  }
  std::size_t at = 0;
  while (at < field.size() && field[at] == ' ') ++at;
  std::uint64_t value = 0;
  for (; at < field.size() && field[at] >= '0' && field[at] <= '7'; ++at) {
    value = value * 8 + static_cast<std::uint64_t>(field[at] - '0');
  }
  for (; at < field.size(); ++at) {
    if (field[at] != ' ' && field[at] != '\0') return std::nullopt;
  }
  return value;
}

std::uint64_t checksum(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool in_sum = i >= kSum.at && i < kSum.at + kSum.size;
    sum += in_sum ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

void put(std::string& block, Span span, std::string_view value) {
  std::memcpy(block.data() + span.at, value.data(), std::min(span.size, value.size()));
}

void put_octal(std::string& block, Span span, std::uint64_t value) {
  for (std::size_t i = span.size - 1; i-- > 0;) {
    block[span.at + i] = static_cast<char>('0' + (value & 7));
    value >>= 3;
  }
}

}  // namespace

Error malformed_tar(std::string_view what) {
  return Error{Code::kInvalidArgument, "malformed_tar", "not a tar archive: " + std::string(what), 0};
}

Result<std::optional<TarHeader>> parse_tar_header(std::string_view block) {
  if (block.find_first_not_of('\0') == std::string_view::npos) return std::optional<TarHeader>();
  const auto sum = number(raw(block, kSum));
  if (!sum || *sum != checksum(block)) return malformed_tar("bad header checksum");
  TarHeader out;
  const auto size = number(raw(block, kSize));
  const auto mode = number(raw(block, kMode));
  const auto uid = number(raw(block, kUid));
  const auto gid = number(raw(block, kGid));
  const auto mtime = number(raw(block, kMtime));
  if (!size || !mode || !uid || !gid || !mtime) return malformed_tar("bad number in a header");
  out.name = text(block, kName);
  if (raw(block, kMagic).starts_with(std::string_view("ustar\0", 6))) {
    const std::string prefix = text(block, kPrefix);
    if (!prefix.empty()) out.name = prefix + "/" + out.name;
  }
  out.link = text(block, kLink);
  out.type = block[kType];
  out.size = *size;
  out.mode = static_cast<std::uint32_t>(*mode & 07777);
  out.uid = static_cast<std::uint32_t>(*uid);
  out.gid = static_cast<std::uint32_t>(*gid);
  out.mtime = static_cast<std::int64_t>(*mtime);
  return std::optional<TarHeader>(std::move(out));
}

std::string tar_header_block(const TarHeader& header) {
  std::string block(kTarBlock, '\0');
  put(block, kName, header.name);
  put_octal(block, kMode, header.mode);
  put_octal(block, kUid, header.uid & 07777777);
  put_octal(block, kGid, header.gid & 07777777);
  put_octal(block, kSize, header.size);
  put_octal(block, kMtime, header.mtime < 0 ? 0 : static_cast<std::uint64_t>(header.mtime));
  block[kType] = header.type;
  put(block, kLink, header.link);
  put(block, kMagic, std::string_view("ustar\00000", 8));
  put_octal(block, {kSum.at, 7}, checksum(block));
  block[kSum.at + 6] = '\0';
  block[kSum.at + 7] = ' ';
  return block;
}

std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;  // ' ', '=', '\n'
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) length = std::to_string(length).size() + rest;
  return std::to_string(length) + " " + std::string(key) + "=" + std::string(value) + "\n";
}

Result<std::map<std::string, std::string>> parse_pax(std::string_view in) {
  std::map<std::string, std::string> out;
  while (!in.empty()) {
    std::size_t length = 0;
    const auto [end, failed] = std::from_chars(in.data(), in.data() + in.size(), length);
    const auto digits = static_cast<std::size_t>(end - in.data());
    if (failed != std::errc() || length > in.size() || length < digits + 3 || in[digits] != ' ' || in[length - 1] != '\n') {
      return malformed_tar("bad pax record");
    }
    const std::string_view record = in.substr(digits + 1, length - digits - 2);
    const auto equals = record.find('=');
    if (equals == std::string_view::npos) return malformed_tar("bad pax record");
    out[std::string(record.substr(0, equals))] = record.substr(equals + 1);
    in.remove_prefix(length);
  }
  return out;
}

}  // namespace cay::api
