// What a guest writes and the keeper's children read: user databases, patterns, text.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "keeper/glob_pattern.h"
#include "keeper/guest_user.h"
#include "keeper/text.h"

namespace {

const std::string& scratch() {
  static const std::string path = "/tmp/cay-fuzz-" + std::to_string(::getpid());
  return path;
}

void put(std::string_view text) {
  std::FILE* file = std::fopen(scratch().c_str(), "wb");
  if (file == nullptr) std::abort();
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = in.find('\n');
  const std::string first(in.substr(0, std::min<std::size_t>(cut, 64)));
  const std::string_view rest = cut == std::string_view::npos ? std::string_view() : in.substr(cut + 1);

  const cay::keeper::GlobPattern pattern(first);
  const std::vector<std::string> path = {"a", "bc", std::string(rest.substr(0, 32))};
  if (pattern.matches(path)) {
    // What matches is never pruned on the way.
    const std::vector<std::string> parents = {"a", "bc"};
    if (!pattern.may_contain(parents)) std::abort();
  }
  const std::string shown = cay::keeper::valid_utf8(in, 256);
  if (shown.size() > 256 || cay::keeper::valid_utf8(shown, 256) != shown) std::abort();

  put(rest);
  cay::keeper::GuestUser user;
  if (cay::keeper::resolve_user(first.c_str(), user, scratch().c_str(), scratch().c_str())) {
    if (user.group_count < 1 || user.group_count > cay::keeper::kMaxGroups) std::abort();
    if (user.home[0] != '/') std::abort();
  }
  ::unlink(scratch().c_str());
  return 0;
}
