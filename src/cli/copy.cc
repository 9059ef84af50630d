#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/sparse_file.h"
#include "base/unique_fd.h"
#include "cli/args.h"
#include "cli/byte_meter.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "cli/values.h"
#include "client/errors.h"
#include "client/new_file.h"

namespace cay::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPiece = 64 * 1024;
// The most bytes that are taken of a file with size 0, as files of /proc have it. Other files give
// as many as their size had when they were opened.
constexpr std::uint64_t kMostUntold = 64 << 20;

[[noreturn]] void fail(const std::string& what, int error) {
  throw ApiError(ErrorCode::kInvalidArgument, "local_file", what + ": " + std::strerror(error));
}

struct Copy {
  Context& at;
  const CpArgs& args;
  ByteMeter meter;
  sdk::CopyReport report;
  bool untold = false;

  sdk::OnProgress on_progress() {
    return [this](const sdk::Progress& moved) { meter.show(moved); };
  }

  sdk::ByteProducer from_fd(int fd, const std::string& name) {
    return [this, fd, name] {
      std::string piece(kPiece, '\0');
      ssize_t got = 0;
      do {
        got = ::read(fd, piece.data(), piece.size());
      } while (got < 0 && errno == EINTR);
      if (got < 0) fail(name, errno);
      piece.resize(static_cast<std::size_t>(got));
      report.moved.bytes += piece.size();
      meter.show(report.moved);
      return piece;
    };
  }

  sdk::ByteSink to_fd(int fd, const std::string& name) {
    return [this, fd, name](const std::string& piece) {
      count(piece);
      if (write_all(fd, piece) != Written::kAll) fail(name, errno);
    };
  }

  // Counts a piece before it is kept. The file may have grown since its size was read, or may grow
  // for ever.
  void count(const std::string& piece) {
    report.moved.bytes += piece.size();
    if (report.moved.bytes > args.max_bytes)
      client::raise(client::copy_too_large(args.from, args.max_bytes));
    if (untold && report.moved.bytes > kMostUntold) {
      client::raise(Error{Code::kConflict, "file_changing",
                          args.from + ": was empty, and is written to while it is read: retry", 0});
    }
    meter.show(report.moved);
  }

  // Returns the place of `name`: in `to` if that is a directory inside, else `to` itself.
  std::string inside_target(const sdk::Sandbox& box, const std::string& to, const std::string& name,
                            bool directory) {
    std::string bare = to;
    while (bare.size() > 1 && bare.back() == '/') bare.pop_back();
    try {
      const auto found = box.stat(to, args.user);
      if (found.is_directory()) return name.empty() ? bare : (bare == "/" ? "" : bare) + "/" + name;
      if (directory)
        throw ApiError(ErrorCode::kInvalidArgument, "not_a_directory", to + " inside is a file");
    } catch (const ApiError& error) {
      if (error.code() != ErrorCode::kNotFound) throw;
      if (!directory && to.back() == '/') return to + name;
    }
    return bare;
  }

  void put(const std::string& local, const sdk::Sandbox& box, const std::string& to) {
    if (local == "-") {
      if (to.back() == '/')
        throw ApiError(ErrorCode::kInvalidArgument, "no_name",
                       "stdin has no name: name the file inside");
      box.write_file(to, from_fd(STDIN_FILENO, "stdin"), 0, args.user);
      ++report.moved.files;
      return;
    }
    struct stat facts{};
    if (::stat(local.c_str(), &facts) != 0) fail(local, errno);
    const std::string name = base_name(local);
    if (S_ISDIR(facts.st_mode)) {
      sdk::CopyOptions options;
      options.user = args.user;
      options.progress = on_progress();
      report = box.copy_in(local, inside_target(box, to, name, true), options);
      return;
    }
    const UniqueFd file(::open(local.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) fail(local, errno);
    const std::string target = inside_target(box, to, name, false);
    box.write_file(target, from_fd(file.get(), local), facts.st_mode & 0777, args.user);
    ++report.moved.files;
  }

  void get(const sdk::Sandbox& box, const std::string& from, const std::string& local) {
    const auto found = box.stat(from, args.user);
    const std::string name = base_name(from);
    if (found.is_directory()) {
      if (local == "-") {
        auto lacks = box.read_tree(from, to_fd(STDOUT_FILENO, "stdout"), args.user);
        report.left_out = lacks.left_out;
        report.skipped = std::move(lacks.skipped);
        return;
      }
      sdk::CopyOptions options;
      options.user = args.user;
      options.keep_links = args.keep_links;
      options.max_bytes = args.max_bytes;
      options.progress = on_progress();
      const bool into = fs::is_directory(local) && !name.empty();
      report = box.copy_out(from, into ? (fs::path(local) / name).string() : local, options);
      return;
    }
    if (found.size > args.max_bytes)
      client::raise(client::copy_too_large(args.from, args.max_bytes));
    untold = found.size == 0;
    ++report.moved.files;
    if (local == "-") {
      box.read_file(from, to_fd(STDOUT_FILENO, "stdout"), args.user);
      return;
    }
    get_file(box, from, fs::is_directory(local) ? fs::path(local) / name : fs::path(local),
             found.mode & 0777);
  }

  // A copy that breaks leaves the old file, or none. A device or pipe is written to as it is.
  void get_file(const sdk::Sandbox& box, const std::string& from, const fs::path& local,
                mode_t mode) {
    struct stat facts{};
    if (::stat(local.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
      const UniqueFd there(::open(local.c_str(), O_WRONLY | O_CLOEXEC));
      if (!there) fail(local.string(), errno);
      box.read_file(from, to_fd(there.get(), local.string()), args.user);
      return;
    }
    const std::string shown = local.string();
    const UniqueFd directory(::open(local.has_parent_path() ? local.parent_path().c_str() : ".",
                                    O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory) fail(shown, errno);
    auto file = client::value_or_raise(client::NewFile::create(directory.get(), shown));
    SparseFile content(file.fd());
    box.read_file(
        from,
        [&](const std::string& piece) {
          count(piece);
          keep(content.append(piece), shown);
        },
        args.user);
    keep(content.finish(), shown);
    if (::fchmod(file.fd(), mode) != 0) fail(shown, errno);
    client::value_or_raise(file.commit(local.filename().string()));
  }

  static void keep(int failed, const std::string& shown) {
    if (failed != 0) client::raise(client::local_error(failed, shown));
  }

  // "a/b/" -> "b"; "" for ".", "/" and "a/.": their contents are meant.
  static std::string base_name(const std::string& path) {
    std::string bare = path;
    while (bare.size() > 1 && bare.back() == '/') bare.pop_back();
    const auto slash = bare.rfind('/');
    std::string name = slash == std::string::npos ? bare : bare.substr(slash + 1);
    return name == "." || name == ".." ? std::string() : name;
  }
};

CopyPath copy_path(const std::string& text) {
  auto parsed = parse_copy_path(text);
  if (!parsed) throw ApiError(ErrorCode::kInvalidArgument, "bad_value", parsed.error().message);
  return *std::move(parsed);
}

int cp_command(Context& at, const CpArgs& args) {
  const CopyPath from = copy_path(args.from);
  const CopyPath to = copy_path(args.to);
  if (from.sandbox.has_value() == to.sandbox.has_value()) {
    throw ApiError(
        ErrorCode::kInvalidArgument, "bad_value",
        "one side must be inside, as SANDBOX:/path, and the other here" +
            std::string(from.sandbox ? "; between two sandboxes, go over a local path" : ""));
  }
  sdk::CopyReport report;
  {
    Copy copy{at, args, ByteMeter("copied", at.json), {}};
    if (to.sandbox) {
      copy.put(from.path, at.client.sandbox(*to.sandbox), to.path);
    } else {
      copy.get(at.client.sandbox(*from.sandbox), from.path, to.path);
    }
    report = std::move(copy.report);
  }
  for (const auto& one : report.skipped) {
    print_error("left out: " + printable(one.path) + ": " + printable(one.reason));
  }
  if (report.left_out > report.skipped.size()) {
    const auto more = report.left_out - report.skipped.size();
    print_error("left out: " + std::to_string(more) + " more");
  }
  if (at.json && to.path != "-") print(copy_json(report));
  return report.left_out > 0 ? kLeftOut : kOk;
}

}  // namespace

Command cp_entry() {
  struct State {
    CpArgs args;
    std::string max_size;
  };
  const auto state = std::make_shared<State>();
  return {
      .name = "cp",
      .help = "Copy files and directories into and out of a sandbox",
      .examples =
          "  cay cp main.py box:/app/\n"
          "  cay cp project box:/src                   a directory, with what is in it\n"
          "  cay cp box:/app/out ./out\n"
          "  git archive HEAD | cay cp - box:/tmp/src.tar\n"
          "  cay cp box:/etc/os-release -\n\n"
          "As with cp -r: into TO if that is a directory, else as TO. `FROM/.` is the contents. "
          "From "
          "a sandbox nothing\n"
          "is written outside TO; links that lead out of it are left out unless --keep-links. A "
          "file is there when it is\n"
          "whole; zeros of it take no disk.\n",
      .options =
          [state](Options& to) {
            CpArgs& args = state->args;
            to.needed("FROM", args.from, "Local path, '-' for stdin, or SANDBOX:/path");
            to.needed("TO", args.to, "Local path, '-' for stdout, or SANDBOX:/path");
            to.text("-u,--user", args.user, "Who reads or writes inside (default: root)");
            to.ignored_flag("-r,-R,--recursive",
                            "As cp(1) has it; directories are copied whole without it, too");
            to.text("--max-size", state->max_size,
                    "Refuse to copy more than this out of a sandbox, holes counted (default: 64G)");
            to.flag("--keep-links", args.keep_links, "Make links that lead out of the tree, too");
          },
      .args = [state](const Line&) -> std::any {
        if (!state->max_size.empty())
          state->args.max_bytes = must_some(state->max_size, "--max-size");
        return state->args;
      },
      .run = runs(cp_command)};
}

}  // namespace cay::cli
