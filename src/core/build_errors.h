// The errors of builds that are the user's: a step that failed, or that cannot work.
#pragma once
#include <string>
#include <utility>

#include "base/error.h"

namespace cay::core {

// The message gets the line of its instruction in front.
inline Error build_failed(std::string why) {
  return {Code::kInvalidArgument, "build_failed", std::move(why), 0};
}
inline Error not_built(std::string what) {
  return {Code::kUnsupported, "dockerfile_unsupported", std::move(what), 0};
}

}  // namespace cay::core
