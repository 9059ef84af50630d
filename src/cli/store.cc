#include "cli/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"

namespace cay::cli {
namespace {

constexpr int kModeOfExport = 0666;

[[noreturn]] void fail_to_write(const std::string& file) {
  throw ApiError(ErrorCode::kInvalidArgument, "local_file", file + ": " + std::strerror(errno));
}

std::string finding_lines(const sdk::StoreFinding& one) {
  std::string out = one.kind + " " + one.subject + "\n  " + printable(one.meaning) + "\n  ";
  return out + (one.repaired ? "repaired" : "do: " + printable(one.remedy)) + "\n";
}

}  // namespace

int check_store(Context& at, const SnapshotArgs& args) {
  const auto report = at.client.snapshot_store().check(args.repair);
  if (at.json) {
    print(report.json + "\n");
  } else {
    for (const auto& one : report.findings) print(finding_lines(one));
    print(report.findings.empty() ? "clean\n" : report.clean ? "all of it is repaired\n" : "");
  }
  return report.clean ? kOk : kNotClean;
}

// A file appears under its name only when it is whole.
int export_snapshot(Context& at, const SnapshotArgs& args) {
  const std::string& file = args.words[1];
  if (file == "-") {
    at.client.snapshot_store().export_archive(args.words[0],
                                              [](const std::string& piece) { print(piece); });
    return kOk;
  }
  const std::string part = file + ".part";
  const UniqueFd to(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kModeOfExport));
  if (!to) fail_to_write(part);
  try {
    at.client.snapshot_store().export_archive(args.words[0], [&](const std::string& piece) {
      if (write_all(to.get(), piece) != Written::kAll) fail_to_write(part);
    });
    if (::rename(part.c_str(), file.c_str()) != 0) fail_to_write(file);
  } catch (...) {
    ::unlink(part.c_str());
    throw;
  }
  return kOk;
}

}  // namespace cay::cli
