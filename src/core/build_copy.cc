#include "core/build_copy.h"

#include <algorithm>
#include <charconv>

#include "async/bytes.h"
#include "core/build_errors.h"
#include "dockerfile/text.h"

namespace cay::core {
namespace {

constexpr std::size_t kMostAccounts = std::size_t{4} << 20;  // bytes of /etc/passwd
constexpr std::size_t kMostMatches = 10'000;
constexpr std::uint32_t kMostOwner = 65'535;
constexpr std::size_t kMagicBytes = 512;

std::string joined_path(const std::string& directory, const std::string& name) {
  if (name.empty()) return directory;
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

// A layer's paths are relative.
std::string in_layer(const std::string& absolute) { return absolute.substr(1); }

std::vector<std::string> parts_of_path(const std::string& path) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    if (slash > at) out.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return out;
}

bool is_missing(const Error& error) {
  return error.code == Code::kNotFound || error.reason == "not_a_directory";
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size() || out > kMostOwner)
    return std::nullopt;
  return out;
}

// Nothing: there is no such file.
Task<std::optional<FileInfo>> look(std::shared_ptr<LiveSandbox> in, std::string path) {
  auto looking = in->stat(std::move(path), FileAs{}, true);
  auto info = co_await std::move(looking);
  if (!info && is_missing(info.error())) co_return std::optional<FileInfo>();
  if (!info) co_return std::move(info).error();
  co_return std::optional<FileInfo>(*std::move(info));
}

// The fields of the line of /etc/passwd or /etc/group that has this name.
std::optional<std::vector<std::string>> account(std::string_view file, std::string_view name) {
  while (!file.empty()) {
    const std::string_view line = file.substr(0, file.find('\n'));
    file.remove_prefix(std::min(file.size(), line.size() + 1));
    std::vector<std::string> fields;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t colon = std::min(line.find(':', at), line.size());
      fields.emplace_back(line.substr(at, colon - at));
      at = colon + 1;
    }
    if (fields.size() >= 4 && fields.front() == name) return fields;
  }
  return std::nullopt;
}

Task<std::string> text_file(std::shared_ptr<LiveSandbox> in, std::string path) {
  auto opening = in->read(std::move(path), FileAs{}, ReadRange{});
  auto file = co_await std::move(opening);
  if (!file && is_missing(file.error())) co_return std::string();
  if (!file) co_return std::move(file).error();
  auto reading = read_all(std::move(file->bytes), kMostAccounts);
  auto text = co_await std::move(reading);
  co_return text;
}

enum class Packed : std::uint8_t { kNo, kTar, kMaybe, kOther };

// By the first bytes, as the formats define them.
Packed packed(std::string_view bytes) {
  constexpr std::size_t kTarMagicAt = 257;
  if (bytes.size() > kTarMagicAt && bytes.substr(kTarMagicAt).starts_with("ustar"))
    return Packed::kTar;
  if (bytes.starts_with("\x1f\x8b") || bytes.starts_with("\x28\xb5\x2f\xfd")) return Packed::kMaybe;
  if (bytes.starts_with("BZh") || bytes.starts_with(std::string_view("\xfd"
                                                                     "7zXZ\0",
                                                                     6)))
    return Packed::kOther;
  return Packed::kNo;
}

}  // namespace

Task<FileOwner> BuildCopy::owner_of(std::string user, std::shared_ptr<LiveSandbox> in) const {
  FileOwner out;
  if (user.empty()) co_return out;
  const std::size_t colon = user.find(':');
  const std::string name = user.substr(0, colon);
  const std::string group = colon == std::string::npos ? std::string() : user.substr(colon + 1);
  if (const auto uid = number_of(name)) {
    out = {*uid, *uid};
  } else {
    CAY_CO_TRY(const std::string users, co_await text_file(in, "/etc/passwd"));
    const auto found = account(users, name);
    const auto of_user = found ? number_of((*found)[2]) : std::nullopt;
    const auto of_group = found ? number_of((*found)[3]) : std::nullopt;
    if (!of_user || !of_group)
      co_return build_failed("there is no user '" + dockerfile::shown(name) +
                             "' in /etc/passwd of the image");
    out = {*of_user, *of_group};
  }
  if (group.empty()) co_return out;
  if (const auto gid = number_of(group)) {
    out.gid = *gid;
    co_return out;
  }
  CAY_CO_TRY(const std::string groups, co_await text_file(in, "/etc/group"));
  const auto found = account(groups, group);
  const auto gid = found ? number_of((*found)[2]) : std::nullopt;
  if (!gid)
    co_return build_failed("there is no group '" + dockerfile::shown(group) +
                           "' in /etc/group of the image");
  out.gid = *gid;
  co_return out;
}

Task<bool> BuildCopy::add_directories(std::string path, FileOwner owner,
                                      std::shared_ptr<LiveSandbox> in,
                                      std::vector<CopyPart>& parts) const {
  std::string at;
  bool there = true;
  for (const std::string& part : parts_of_path(path)) {
    at += "/" + part;
    if (there) {
      CAY_CO_TRY(const auto info, co_await look(in, at));
      if (info && info->kind != FileKind::kDirectory)
        co_return build_failed(at + " is no directory in the image");
      there = info.has_value();
    }
    if (there) continue;
    const bool made = std::ranges::any_of(parts, [&](const CopyPart& one) {
      const auto* directory = std::get_if<MadePart>(&one);
      return directory != nullptr && directory->entry.path == in_layer(at);
    });
    if (!made) parts.emplace_back(made_directory(in_layer(at), owner, now_ns_));
  }
  co_return there;
}

Task<BuildCopy::Sources> BuildCopy::walk(std::string pattern, From from) const {
  Sources found{{}};  // the root
  if (pattern == ".") pattern.clear();
  bool has_wildcards = false;
  for (const std::string& part : parts_of_path(pattern)) {
    Sources next;
    if (part.find_first_of("*?[\\") == std::string::npos) {
      for (const auto& one : found)
        next.push_back({one.path.empty() ? part : one.path + "/" + part, part});
    } else {
      has_wildcards = true;
      CAY_CO_TRY(const auto names, dockerfile::IgnorePattern::parse(part));
      for (const auto& one : found) {
        auto listing = from.live->list(joined_path(from.root, one.path), FileAs{});
        auto all = co_await std::move(listing);
        if (!all && is_missing(all.error())) continue;
        if (!all) co_return std::move(all).error();
        for (const FileInfo& info : *all) {
          const std::string name = info.path.substr(info.path.rfind('/') + 1);
          if (names.matches(name))
            next.push_back({one.path.empty() ? name : one.path + "/" + name, name});
        }
        if (next.size() > kMostMatches)
          co_return build_failed("the pattern " + dockerfile::shown(pattern) +
                                 " matches more than 10,000 files");
      }
    }
    found = std::move(next);
  }
  Sources out;
  for (auto& one : found) {
    const std::string path = joined_path(from.root, one.path);
    CAY_CO_TRY(const auto info, co_await look(from.live, path));
    if (!info && has_wildcards) continue;
    if (!info) co_return build_failed("there is no file '/" + pattern + "' to copy from");
    one.is_directory = info->kind == FileKind::kDirectory;
    out.push_back(std::move(one));
  }
  co_return std::move(out);
}

Task<BuildCopy::Sources> BuildCopy::sources(const dockerfile::CopyStep& step,
                                            const From& from) const {
  Sources out;
  for (const std::string& path : step.paths) {
    Sources some;
    if (!from.live) {
      co_return build_failed(
          "there is no file '" + path + "' to copy: " +
          (from.context != nullptr ? "the build has no context" : "its source is empty"));
    }
    if (from.context != nullptr) {
      CAY_CO_TRY(some, from.context->find(path));
    } else {
      CAY_CO_TRY(some, co_await walk(path, from));
    }
    out.insert(out.end(), some.begin(), some.end());
  }
  if (out.empty() && step.files.empty())
    co_return build_failed("no file matches what is to be copied");
  co_return std::move(out);
}

// Null: it is no archive.
Task<std::shared_ptr<LayerSource>> BuildCopy::unpacked(std::string path, From from) {
  auto opening = from.live->read(path, FileAs{}, ReadRange{0, kMagicBytes});
  CAY_CO_TRY(FileStream first, co_await std::move(opening));
  auto reading = read_all(std::move(first.bytes), kMagicBytes);
  CAY_CO_TRY(const Bytes magic, co_await std::move(reading));
  const Packed how = packed(magic);
  if (how == Packed::kNo) co_return std::shared_ptr<LayerSource>();
  if (how == Packed::kOther)
    co_return not_built("ADD does not unpack archives of bzip2 and xz: pack it with gzip or zstd");
  if (images_ == nullptr)
    co_return Error{Code::kUnsupported, "images_unsupported",
                    "this daemon runs without the process that unpacks archives: run cay doctor",
                    0};
  opening = from.live->read(path, FileAs{}, ReadRange{});
  CAY_CO_TRY(FileStream whole, co_await std::move(opening));
  auto unpacking =
      images_->read(std::move(whole.bytes), ArchiveKind::kRoot, {}, [](const std::string&) {});
  auto image = co_await std::move(unpacking);
  // A compressed file that is no archive is copied as it is.
  if (!image && how == Packed::kMaybe && image.error().code == Code::kInvalidArgument)
    co_return std::shared_ptr<LayerSource>();
  if (!image) co_return std::move(image).error();
  auto layer = (*image)->layer(0);
  CAY_CO_TRY(std::unique_ptr<LayerSource> entries, co_await std::move(layer));
  archives_.push_back(*std::move(image));
  co_return std::shared_ptr<LayerSource>(std::move(entries));
}

Task<void> BuildCopy::copy(dockerfile::CopyStep step, From from, std::shared_ptr<LiveSandbox> to) {
  CAY_CO_TRY(const Sources found, co_await sources(step, from));
  CAY_CO_TRY(const FileOwner owner, co_await owner_of(step.chown, to));
  std::vector<CopyPart> parts;
  const std::string& target = step.target;
  CAY_CO_TRY(const auto info, co_await look(to, target));
  bool is_directory = info && info->kind == FileKind::kDirectory;
  const bool into = step.into_directory || is_directory || found.size() + step.files.size() > 1;
  const std::string above = target.substr(0, std::max<std::size_t>(1, target.rfind('/')));
  const CopyChange change{owner, step.chmod};
  const auto enter = [&] { return add_directories(target, owner, to, parts); };
  const auto at = [&](const std::string& name) {
    return in_layer(into ? joined_path(target, name) : target);
  };
  if (!into) {
    CAY_CO_CHECK(co_await add_directories(above, owner, to, parts));
  }
  for (const auto& one : found) {
    const std::string path = joined_path(from.root, one.path);
    if (one.is_directory) {
      if (info && !is_directory)
        co_return build_failed("a directory cannot be copied to the file " + target);
      // A directory that was there keeps its owner and mode. A new one is made as buildah does:
      // --chmod and the mode of the source count for what is in it.
      CAY_CO_CHECK(co_await enter());
      parts.emplace_back(ReadPart{from.live, path, in_layer(target), change});
      is_directory = true;
      continue;
    }
    std::shared_ptr<LayerSource> archive;
    if (step.unpack) {
      CAY_CO_TRY(archive, co_await unpacked(path, from));
    }
    if (into || archive) {
      CAY_CO_CHECK(co_await enter());
      is_directory = true;
    }
    if (archive) {
      CopyChange kept;
      if (!step.chown.empty()) kept.owner = owner;
      parts.emplace_back(UnpackedPart{std::move(archive), in_layer(target), kept});
    } else {
      parts.emplace_back(ReadPart{from.live, path, at(one.name), change});
    }
  }
  for (const auto& file : step.files) {
    if (into) {
      CAY_CO_CHECK(co_await enter());
    }
    MadePart made;
    made.entry.path = at(file.name);
    made.entry.size = file.content.size();
    made.entry.mode = step.chmod.value_or(0644);
    made.entry.uid = owner.uid;
    made.entry.gid = owner.gid;
    made.entry.mtime_ns = now_ns_;
    made.content = file.content;
    parts.emplace_back(std::move(made));
  }
  auto writing = to->write_layer(copied_layer(std::move(parts), to));
  auto written = co_await std::move(writing);
  archives_.clear();
  co_return written;
}

Task<void> BuildCopy::make(std::vector<dockerfile::DirectoryStep> steps,
                           std::shared_ptr<LiveSandbox> in) {
  std::vector<CopyPart> parts;
  for (const auto& step : steps) {
    CAY_CO_TRY(const FileOwner owner, co_await owner_of(step.user, in));
    CAY_CO_CHECK(co_await add_directories(step.path, owner, in, parts));
  }
  if (parts.empty()) co_return Result<void>();
  auto writing = in->write_layer(copied_layer(std::move(parts)));
  auto written = co_await std::move(writing);
  co_return written;
}

}  // namespace cay::core
