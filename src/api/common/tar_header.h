// One 512-byte tar header block, and pax records.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cay::api {

inline constexpr std::size_t kTarBlock = 512;

struct TarHeader {
  std::string name{};   // with the ustar prefix
  std::string link{};
  char type = '0';
  std::uint64_t size = 0;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t mtime = 0;
};

// nullopt: a block of zeros. Fails malformed_tar (bad checksum or number).
Result<std::optional<TarHeader>> parse_tar_header(std::string_view block);
// Name and link must fit (100 bytes), size below 8 GiB.
std::string tar_header_block(const TarHeader& header);

// "LEN KEY=VALUE\n"…
std::string pax_record(std::string_view key, std::string_view value);
Result<std::map<std::string, std::string>> parse_pax(std::string_view text);

inline std::size_t tar_padding(std::uint64_t size) {
  return static_cast<std::size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

Error malformed_tar(std::string_view what);

}  // namespace cay::api
