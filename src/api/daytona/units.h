// The units in which clients count resources.
#pragma once
#include <cstdint>

namespace cay::api::daytona {

inline constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kMilliPerCpu = 1000;

}  // namespace cay::api::daytona
