#include "image/platform.h"

namespace cay::image {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kHost = "linux/amd64";
#else
constexpr std::string_view kHost = "linux/arm64/v8";
#endif

}  // namespace

Result<Platform> parse_platform(std::string_view text) {
  if (text.empty()) text = kHost;
  const Error wrong{Code::kInvalidArgument, "bad_reference",
                    "a platform is like linux/amd64 or linux/arm64/v8", 0};
  constexpr std::size_t kMost = 64;
  if (text.size() > kMost ||
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789/_-.") != std::string_view::npos)
    return wrong;
  Platform out;
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return wrong;
  out.os = std::string(text.substr(0, slash));
  text.remove_prefix(slash + 1);
  const auto next = text.find('/');
  out.architecture = std::string(text.substr(0, next));
  if (next != std::string_view::npos) out.variant = std::string(text.substr(next + 1));
  if (out.os.empty() || out.architecture.empty()) return wrong;
  return out;
}

}  // namespace cay::image
