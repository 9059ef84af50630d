// Sandboxes as Daytona's clients read them (protocol reference, section 2.2).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "codec/json.h"
#include "model/sandbox.h"

namespace cay::api::daytona {

// The vendor's word for the state at this moment.
std::string_view state_text(const Sandbox& sandbox);

// Whole CPUs and GiB, as these clients count, and never less than there is.
std::uint64_t whole_cpus(std::uint32_t millicores);
std::uint64_t whole_gib(std::uint64_t bytes);

// The policies that a client's network settings mean.
inline constexpr const char* kNoNetwork = "off";

// `base`: as base_url() has it. An item of a list leaves out what is long.
codec::json::object item_json(const Sandbox& sandbox, const std::string& base);
codec::json::object sandbox_json(const Sandbox& sandbox, const std::string& base);

}  // namespace cay::api::daytona
