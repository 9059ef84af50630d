// cay snapshot build --debian: mmdebstrap in a sandbox, since scripts of packages are foreign code
// (decision 0054).
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "base/ascii.h"
#include "base/unique_fd.h"
#include "cli/build.h"
#include "cli/byte_meter.h"
#include "cli/exit_code.h"
#include "cli/image.h"
#include "cli/output.h"
#include "cli/render.h"

namespace cay::cli {
namespace {

constexpr const char* kPackagePolicy = "debian";
// Removes the sandbox of a `cay` that was killed.
constexpr std::int64_t kLongestBuild = 6L * 3600;
constexpr double kNobodyReads = 300;
constexpr int kNoProgram = 3;  // the exit code of the script that follows
constexpr const char* kRootArchive = "/root/root.tar";

// $1: the suite, empty: this system's. $2: the packages. $3: the archive to write. $4:
// SOURCE_DATE_EPOCH of the user.
//
// The archive of Debian that this system uses is the mirror, if the suite is this system's. All
// times of files are at most that of the suite's Release, so that the same packages make the same
// root.
constexpr const char* kScript = R"sh(
set -eu
export DEBIAN_FRONTEND=noninteractive
suite=$1 packages=$2 archive=$3 epoch=$4
if ! command -v mmdebstrap >/dev/null; then
  if ! command -v apt-get >/dev/null; then
    echo "E: the default snapshot has neither mmdebstrap nor apt-get" >&2
    exit 3
  fi
  apt-get -q update
  apt-get -q -y --no-install-recommends install mmdebstrap
fi
own=$(. /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-}") || own=
suite=${suite:-${own:-bookworm}}
uri=http://deb.debian.org/debian sources=
if [ "$suite" = "$own" ]; then
  sources=$(grep -lsE '^(URIs:|deb )' /etc/apt/sources.list /etc/apt/sources.list.d/*) || true
  [ -z "$sources" ] || uri=$(sed -nE 's/^(URIs:|deb) *([^ ]*).*/\2/p' $sources | head -n 1)
fi
if [ -z "$epoch" ]; then
  release=$(mktemp)
  /usr/lib/apt/apt-helper -q download-file "$uri/dists/$suite/InRelease" "$release" >&2 || {
    echo "E: $uri has no suite $suite, or is not reached" >&2
    exit 1
  }
  epoch=$(date -u -d "$(sed -n 's/^Date: //p' "$release")" +%s)
fi
export SOURCE_DATE_EPOCH=$epoch
exec mmdebstrap --mode=root --variant=minbase --format=tar --skip=output/dev \
  --customize-hook='echo localhost >"$1/etc/hostname"; : >"$1/etc/resolv.conf"' \
  --include="$packages" "$suite" "$archive" $sources
)sh";

// Lines of mmdebstrap that are about every run in a sandbox, which mounts nothing.
bool is_usual(const std::string& line) {
  for (const char* begin : {"W: cannot mount because", "W: skipping bind-mounting",
                            "W: skipping mount", "unshare: unshare failed"}) {
    if (line.starts_with(begin)) return true;
  }
  return false;
}

// Scripts of Java's packages print this.
constexpr const char* kNeedsProc = "requires a mounted proc fs";

// Shows lines as they come, and keeps the last error among them.
class Lines {
 public:
  explicit Lines(bool quiet) : quiet_(quiet) {}
  void add(const std::string& bytes) {
    rest_ += bytes;
    for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      show(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
  }
  const std::string& first_error() const { return error_; }
  const std::string& hidden() const { return hidden_; }
  // A package looked for /proc, which the new root does not have.
  bool needs_proc() const { return needs_proc_; }

 private:
  void show(const std::string& line) {
    if (is_usual(line)) return;
    const std::string shown = printable(line) + "\n";
    if (line.starts_with("E: ") && error_.empty()) error_ = printable(line.substr(3));
    needs_proc_ = needs_proc_ || line.find(kNeedsProc) != std::string::npos;
    if (quiet_) {
      hidden_ += shown;
    } else {
      write_all(STDERR_FILENO, shown);
    }
  }

  const bool quiet_;
  bool needs_proc_ = false;
  std::string rest_, hidden_, error_;
};

// A sandbox that is removed on every way out. From its creation on no signal ends this program.
class WorkSandbox {
 public:
  WorkSandbox(Context& at, const sdk::CreateOptions& options)
      : at_(at), info_(make(at, options)), box_(at.client.sandbox(info_.id)) {}
  ~WorkSandbox() {
    at_.signals->on({});
    try {
      box_.remove();
    } catch (const ApiError& error) {
      print_error("sandbox " + info_.name + " could not be removed: " + error.what());
    }
  }
  WorkSandbox(const WorkSandbox&) = delete;
  WorkSandbox& operator=(const WorkSandbox&) = delete;

  const sdk::Sandbox& box() const { return box_; }

 private:
  static sdk::SandboxInfo make(Context& at, const sdk::CreateOptions& options) {
    at.signals->hold("left while a sandbox was being made: it goes after some hours");
    auto info = at.client.create_info(options);
    at.signals->hold("left; `cay rm " + info.name + "` removes the sandbox of this build");
    return info;
  }

  Context& at_;
  sdk::SandboxInfo info_;
  sdk::Sandbox box_;
};

std::string in_one(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// The name of a snapshot whose line has no -t.
std::string name_of_packages(const std::vector<std::string>& packages) {
  constexpr std::size_t kLongest = 100;
  std::string out = in_one(packages, "-").substr(0, kLongest);
  for (char& c : out) {
    if (!is_letter(c) && !is_digit(c) && c != '.') c = '-';
  }
  while (!out.empty() && !is_letter(out.back()) && !is_digit(out.back())) out.pop_back();
  return out.empty() ? "debian" : out;
}

// Returns false after a signal.
bool make_root(Context& at, const sdk::Sandbox& box, const BuildArgs& args) {
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
  sdk::CommandOptions options;
  options.timeout_s = 0;                  // none
  options.idle_timeout_s = kNobodyReads;  // this program was killed
  auto command =
      box.spawn({"sh", "-c", kScript, "mmdebstrap", args.suite, in_one(args.packages, ","),
                 kRootArchive, epoch == nullptr ? "" : epoch},
                options);
  std::atomic<bool> interrupted = false;
  at.signals->on([&](int signal) {
    if (signal == SIGWINCH) return;
    interrupted = true;
    print_error("giving the build up");
    try {
      command.kill();
    } catch (const ApiError& error) {
      print_error(error.what());
    }
  });
  Lines out(args.quiet), errors(args.quiet);
  const auto end =
      command.wait({.on_stdout = [&](const std::string& bytes) { out.add(bytes); },
                    .on_stderr = [&](const std::string& bytes) { errors.add(bytes); }});
  at.signals->on({});
  if (interrupted) return false;
  if (end.ok()) return true;
  write_all(STDERR_FILENO, out.hidden() + errors.hidden());
  const std::string why =
      errors.first_error().empty() ? "it is " + end.command.state : errors.first_error();
  if (end.command.exit_code == kNoProgram)
    throw ApiError(ErrorCode::kUnsupported, "no_mmdebstrap", why);
  const std::string advice =
      out.needs_proc() || errors.needs_proc()
          ? " (a package needs /proc when it is installed, as those of Java: write a Dockerfile "
            "with `RUN apt-get install`)"
          : "";
  throw ApiError(ErrorCode::kInvalidArgument, "packages_failed",
                 "mmdebstrap failed: " + why + advice);
}

// Carries the archive from the sandbox to the import, over a pipe. A second client reads it, since
// the first one's thread sends the upload.
class ArchivePipe {
 public:
  explicit ArchivePipe(const std::string& sandbox) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      throw ApiError(ErrorCode::kExhausted, "local_file", std::strerror(errno));
    read_.reset(ends[0]);
    write_.reset(ends[1]);
    reader_ = std::thread([this, sandbox] { read_all(sandbox); });
  }
  ~ArchivePipe() {
    read_.reset();
    reader_.join();
  }
  ArchivePipe(const ArchivePipe&) = delete;
  ArchivePipe& operator=(const ArchivePipe&) = delete;

  // A ByteProducer. Throws the reader's failure, so that no part is taken for the whole.
  std::string next() {
    constexpr std::size_t kPiece = 256 * 1024;
    std::string piece(kPiece, '\0');
    ssize_t got = 0;
    do {
      got = ::read(read_.get(), piece.data(), piece.size());
    } while (got < 0 && errno == EINTR);
    if (got <= 0 && failed_) std::rethrow_exception(failed_);
    piece.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return piece;
  }

 private:
  void read_all(const std::string& sandbox) {
    try {
      const sdk::Client client;
      client.sandbox(sandbox).read_file(kRootArchive, [this](const std::string& piece) {
        if (write_all(write_.get(), piece) != Written::kAll)
          throw ApiError(ErrorCode::kCancelled, "import_ended", "the import ended early");
      });
    } catch (...) {
      failed_ = std::current_exception();
    }
    write_.reset();  // after the failure is there
  }

  UniqueFd read_, write_;
  std::exception_ptr failed_;
  std::thread reader_;
};

}  // namespace

int build_of_packages(Context& at, const BuildArgs& args) {
  sdk::CreateOptions options;
  options.policy = args.build.policy.empty() ? kPackagePolicy : args.build.policy;
  options.lifetime_s = kLongestBuild;
  options.labels = {{"cay.build", "debian"}};
  const std::string name =
      args.build.name.empty() ? name_of_packages(args.packages) : args.build.name;
  sdk::Snapshot made;
  {
    const WorkSandbox work(at, options);
    if (!at.signals->held() && make_root(at, work.box(), args) && !at.signals->held()) {
      ArchivePipe archive(work.box().ref());
      made = at.client.snapshot_store().import_archive([&archive] { return archive.next(); }, name);
    }
  }
  if (made.id.empty()) end_by_signal(at.signals->held().value_or(SIGINT));
  made = wait_for(at, made);
  print(at.json ? made.json + "\n" : snapshot_ref(made) + "\n");
  return kOk;
}

}  // namespace cay::cli
