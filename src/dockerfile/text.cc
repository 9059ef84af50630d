#include "dockerfile/text.h"

namespace cay::dockerfile {

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::string out(text.substr(0, kMost));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  if (text.size() > kMost) out += "...";
  return out;
}

Error wrong_at(int line, std::string_view what) {
  return Error{Code::kInvalidArgument, "invalid_dockerfile",
               "line " + std::to_string(line) + ": " + std::string(what), 0};
}

Error refused_at(int line, std::string_view what) {
  return Error{Code::kUnsupported, "dockerfile_unsupported",
               "line " + std::to_string(line) + ": " + std::string(what), 0};
}

}  // namespace cay::dockerfile
