// slurp(): the whole of a file, for tests. Empty if it cannot be read.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace cay::testing {

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace cay::testing
