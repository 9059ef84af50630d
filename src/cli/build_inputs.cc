#include "cli/build_inputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <variant>

#include "archive/decompressor.h"
#include "archive/tar_reader.h"
#include "base/unique_fd.h"
#include "cli/docker_config.h"
#include "client/errors.h"
#include "dockerfile/dockerfile.h"
#include "dockerfile/plan.h"

namespace cay::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kDockerfile = "Dockerfile";
constexpr const char* kIgnoreFile = ".dockerignore";
constexpr std::size_t kMostOfText = dockerfile::kMostBytes;
constexpr std::size_t kTextPiece = 64 * 1024;
constexpr std::size_t kTarBlock = 512;

Error local_failure(int failed, const std::string& name) {
  return {failed == ENOENT ? Code::kNotFound : Code::kInvalidArgument, "local_file",
          name + ": " + std::strerror(failed), 0};
}

// Reads a text that is at most as long as a Dockerfile may be.
Result<std::string> read_text(int fd, const std::string& name) {
  std::string out;
  std::array<char, kTextPiece> piece{};
  while (true) {
    const auto got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return local_failure(errno, name);
    if (got == 0) return out;
    out.append(piece.data(), static_cast<std::size_t>(got));
    if (out.size() > kMostOfText)
      return Error{Code::kInvalidArgument, "local_file", name + " is longer than 1 MiB", 0};
  }
}

Result<std::string> read_text_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return local_failure(errno, path);
  return read_text(fd.get(), path);
}

// Returns the text of the .dockerignore that belongs to a Dockerfile; empty if there is none. The
// Dockerfile's own comes before the directory's. `file` empty: the Dockerfile came from stdin.
Result<std::string> ignore_text(const std::string& file, const fs::path& directory) {
  if (!file.empty()) {
    auto own = read_text_file(file + kIgnoreFile);
    if (own || own.error().code != Code::kNotFound) return own;
  }
  auto text = read_text_file((directory / kIgnoreFile).string());
  if (!text && text.error().code == Code::kNotFound) return std::string();
  return text;
}

// Keeps stdin in a file without a name, for it is read twice.
Result<std::shared_ptr<std::FILE>> keep_stdin(std::string_view begin) {
  std::shared_ptr<std::FILE> kept(std::tmpfile(), [](std::FILE* file) {
    if (file != nullptr) std::fclose(file);
  });
  if (kept == nullptr) return local_failure(errno, "a temporary file");
  std::string piece(begin);
  while (!piece.empty()) {
    if (std::fwrite(piece.data(), 1, piece.size(), kept.get()) != piece.size())
      return local_failure(errno, "a temporary file");
    piece.resize(kTextPiece);
    ssize_t got = 0;
    do {
      got = ::read(STDIN_FILENO, piece.data(), piece.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return local_failure(errno, "stdin");
    piece.resize(static_cast<std::size_t>(got));
  }
  if (std::fflush(kept.get()) != 0) return local_failure(errno, "a temporary file");
  return kept;
}

std::string bare_name(std::string name) {
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

Result<std::string> text_of_entry(archive::TarReader& tar, const std::string& name) {
  std::string out;
  archive::TarReader::Block block;
  while (tar.block(block) == archive::TarReader::Step::kDone) {
    out.append(block.bytes);
    if (out.size() > kMostOfText)
      return Error{Code::kInvalidArgument, "local_file", name + " is longer than 1 MiB", 0};
  }
  return out;
}

// Reads one file of an archive.
Result<std::string> text_in_archive(std::FILE* file, const std::string& wanted) {
  std::rewind(file);
  archive::Decompressor plain([file]() -> Result<std::string> {
    std::string piece(kTextPiece, '\0');
    piece.resize(std::fread(piece.data(), 1, piece.size(), file));
    return piece;
  });
  archive::TarReader tar([&plain] { return plain.next(); });
  using Step = archive::TarReader::Step;
  while (true) {
    const Step step = tar.next();
    if (step == Step::kFailed) {
      return tar.input_error() ? *tar.input_error()
                               : Error{Code::kInvalidArgument, "local_file",
                                       "stdin is no tar archive: " + tar.why(), 0};
    }
    if (step == Step::kEnd) break;
    const auto name = tar.entry().name();
    const bool is_file = tar.entry().kind() == archive::TarEntry::Kind::kFile;
    if (is_file && name && bare_name(*name) == wanted) return text_of_entry(tar, wanted);
  }
  return Error{Code::kNotFound, "local_file", "the archive on stdin has no " + wanted, 0};
}

// Returns the first bytes of stdin, enough for begins_like_an_archive().
Result<std::string> first_of_stdin() {
  std::string out(kTarBlock, '\0');
  std::size_t size = 0;
  while (size < out.size()) {
    const auto got = ::read(STDIN_FILENO, out.data() + size, out.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return local_failure(errno, "stdin");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  out.resize(size);
  return out;
}

Result<BuildInputs> inputs_of_stdin(const std::string& file) {
  CAY_TRY(std::string begin, first_of_stdin());
  BuildInputs out;
  if (!begins_like_an_archive(begin)) {
    if (!file.empty())
      return Error{Code::kInvalidArgument, "local_file",
                   "stdin is no archive, and -f names a file of one: write the directory instead "
                   "of -",
                   0};
    CAY_TRY(const std::string rest, read_text(STDIN_FILENO, "stdin"));
    out.dockerfile = begin + rest;
    return out;
  }
  CAY_TRY(out.archive, keep_stdin(begin));
  CAY_TRY(out.dockerfile,
          text_in_archive(out.archive.get(), bare_name(file.empty() ? kDockerfile : file)));
  std::rewind(out.archive.get());
  return out;
}

Result<BuildInputs> inputs_of_directory(const std::string& file, const std::string& directory) {
  BuildInputs out;
  out.directory = directory;
  const std::string path = file.empty() ? (fs::path(directory) / kDockerfile).string() : file;
  if (path == "-") {
    CAY_TRY(out.dockerfile, read_text(STDIN_FILENO, "stdin"));
    CAY_TRY(out.ignore, ignore_text({}, directory));
    return out;
  }
  CAY_TRY(out.dockerfile, read_text_file(path));
  CAY_TRY(out.ignore, ignore_text(path, directory));
  return out;
}

void note(std::vector<std::string>& images, const std::string& image) {
  if (std::ranges::find(images, image) == images.end()) images.push_back(image);
}

// The names behind --from= of an instruction.
std::vector<std::string> sources_in(const dockerfile::Instruction& instruction) {
  std::vector<std::string> out;
  if (const auto* copy = std::get_if<dockerfile::Copy>(&instruction.meaning))
    out.push_back(copy->from);
  if (const auto* run = std::get_if<dockerfile::Run>(&instruction.meaning)) {
    for (const auto& mount : run->mounts) out.push_back(mount.from);
  }
  std::erase(out, std::string());
  return out;
}

}  // namespace

Result<SecretSource> parse_secret_source(std::string_view text) {
  SecretSource out;
  std::string type;
  const auto wrong_form = [] {
    return Error{Code::kInvalidArgument, "bad_value",
                 "write it as id=ID,src=FILE or id=ID,env=VARIABLE", 0};
  };
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view member = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const auto equals = member.find('=');
    if (equals == std::string_view::npos) return wrong_form();
    const std::string_view key = member.substr(0, equals);
    const std::string value(member.substr(equals + 1));
    if (key == "id") {
      out.id = value;
    } else if (key == "src" || key == "source") {
      out.file = value;
    } else if (key == "env") {
      out.env = value;
    } else if (key == "type" && (value == "file" || value == "env")) {
      type = value;
    } else {
      return wrong_form();
    }
  }
  if (out.id.empty() || (!out.file.empty() && !out.env.empty())) return wrong_form();
  // As docker has it, `src` of type env is a variable.
  if (type == "env" && out.env.empty()) out.env = std::exchange(out.file, {});
  return out;
}

Result<std::string> read_secret(const SecretSource& source) {
  const auto of_variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  if (!source.file.empty()) return read_text_file(source.file);
  const std::string& name = source.env.empty() ? source.id : source.env;
  if (auto value = of_variable(name)) return *std::move(value);
  if (source.env.empty()) return read_text_file(source.id);
  return Error{Code::kNotFound, "local_file", "the variable " + name + " is not set", 0};
}

bool begins_like_an_archive(std::string_view bytes) {
  constexpr std::size_t kMagicAt = 257;
  using namespace std::string_view_literals;
  for (const std::string_view magic : {"\x1f\x8b"sv, "\x28\xb5\x2f\xfd"sv, "BZh"sv,
                                       "\xfd"
                                       "7zXZ"sv}) {
    if (bytes.starts_with(magic)) return true;
  }
  return bytes.size() > kMagicAt && bytes.substr(kMagicAt).starts_with("ustar");
}

BuildInputs read_build_inputs(const std::string& file, const std::string& context) {
  return client::value_or_raise(context == "-" ? inputs_of_stdin(file)
                                               : inputs_of_directory(file, context));
}

Result<std::vector<std::string>> images_named_by(std::string_view text,
                                                 const sdk::BuildOptions& options) {
  CAY_TRY(const dockerfile::Dockerfile file, dockerfile::parse(text));
  dockerfile::BuildOptions build{.target = options.target, .arguments = {}};
  for (const auto& [name, value] : options.arguments) build.arguments.emplace(name, value);
  if (!options.platform.empty()) build.platform = options.platform;
  const auto plan = dockerfile::plan(file, build);
  std::vector<std::string> images;
  // The daemon reports what is wrong, for its own platform.
  if (!plan) return images;
  for (const auto& planned : plan->stages) {
    if (planned.base.kind == dockerfile::Source::Kind::kImage) note(images, planned.base.image);
    for (const auto& instruction : file.stages[planned.stage].instructions) {
      for (const std::string& from : sources_in(instruction)) {
        const auto source = dockerfile::source_of(file, from, instruction.line);
        if (source && source->kind == dockerfile::Source::Kind::kImage) note(images, source->image);
      }
    }
  }
  return images;
}

std::map<std::string, sdk::RegistryLogin> logins_for(
    const std::vector<std::string>& images,
    const std::function<sdk::RegistryLogin(const std::string& image)>& login_of) {
  std::map<std::string, std::string> by_host;
  for (const std::string& image : images) by_host.emplace(registry_of(image), image);
  std::map<std::string, sdk::RegistryLogin> out;
  for (const auto& [host, image] : by_host) {
    if (auto login = login_of(image); !login.empty()) out.emplace(host, std::move(login));
  }
  return out;
}

}  // namespace cay::cli
