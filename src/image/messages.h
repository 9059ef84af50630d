// The core's types as messages between the daemon and the image process, and back. Coming back,
// they are checked: the image process reads what strangers wrote.
#pragma once
#include <cstdint>

#include "base/result.h"
#include "core/ports/images.h"
#include "wire/image.h"

namespace cay::image {

// The type of a frame.
inline std::uint16_t number(wire::Type type) { return static_cast<std::uint16_t>(type); }
inline std::uint16_t number(wire::ImageType type) { return static_cast<std::uint16_t>(type); }

wire::PullImage message_of(const core::PullRequest& request);
core::PullRequest request_of(wire::PullImage message);
wire::PushImage message_of(const core::PushRequest& request, std::size_t layers);
core::PushRequest request_of(wire::PushImage message);

wire::ImageMsg message_of(const core::ImageFacts& facts);
// Fails kInternal bad_answer, as those below.
Result<core::ImageFacts> facts_of(wire::ImageMsg message);
wire::LayerEntryMsg message_of(const core::LayerEntry& entry);
Result<core::LayerEntry> entry_of(wire::LayerEntryMsg message);

wire::ErrorMsg message_of(const Error& error);
Error error_of(wire::ErrorMsg message);

}  // namespace cay::image
