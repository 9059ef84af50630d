// Runs one fuzz target over every file of a directory: fuzz_replay TARGET DIRECTORY. It ends as the
// target does where that breaks.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "replay_targets.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: fuzz_replay TARGET DIRECTORY\n");
    return 2;
  }
  const auto& targets = replay_targets();
  const auto target = std::find_if(targets.begin(), targets.end(),
                                   [&](const ReplayTarget& one) { return one.name == argv[1]; });
  if (target == targets.end()) {
    std::fprintf(stderr, "fuzz_replay: no target '%s'\n", argv[1]);
    return 2;
  }
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[2])) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    // A copy of just that size: what reads past it is seen.
    std::fprintf(stderr, "%s\n", entry.path().c_str());
    const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
    if (target->run(exact.data(), exact.size()) != 0) return 1;
    ++count;
  }
  std::printf("%zu inputs\n", count);
  return count > 0 ? 0 : 1;  // none: the corpus is not where it should be
}
