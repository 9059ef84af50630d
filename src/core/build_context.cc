#include "core/build_context.h"

#include <set>
#include <utility>

#include "base/sha256.h"
#include "core/build_errors.h"

namespace cay::core {
namespace {

constexpr std::size_t kMostFiles = 200'000;
constexpr std::size_t kMostNameBytes = std::size_t{64} << 20;
constexpr std::size_t kDigestBlock = std::size_t{64} << 10;
constexpr int kMostContextLinks = 40;

Error bad_context(std::string why) {
  return {Code::kInvalidArgument, "bad_context", "the build's context: " + std::move(why), 0};
}

bool has_wildcard(const std::string& path) {
  return path.find_first_of("*?[\\") != std::string::npos;
}

std::string last_part_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A digest of content that comes in pieces, in blocks of a fixed size.
class ContentDigest {
 public:
  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::string_view some = bytes.substr(0, kDigestBlock - block_.size());
      block_ += some;
      bytes.remove_prefix(some.size());
      if (block_.size() == kDigestBlock) end_block();
    }
  }
  std::string take() {
    end_block();
    return std::exchange(digest_, std::string());
  }

 private:
  void end_block() {
    digest_ = sha256(digest_ + block_);
    block_.clear();
  }
  std::string digest_, block_;
};

class ContextEntries final : public LayerSource {
 public:
  ContextEntries(std::unique_ptr<LayerSource> inner, BuildContext& index,
                 std::optional<dockerfile::IgnoreList> ignored)
      : inner_(std::move(inner)), index_(index), ignored_(std::move(ignored)) {}

  Task<std::optional<LayerEvent>> next() override {
    for (;;) {
      CAY_CO_TRY(auto event, co_await inner_->next());
      if (!event) co_return std::optional<LayerEvent>();
      if (auto* bytes = std::get_if<Bytes>(&*event)) {
        left_ -= std::min<std::uint64_t>(left_, bytes->size());
        if (skips_) continue;
        digest_.add(*bytes);
        if (left_ == 0) {
          CAY_CO_CHECK(index_.add(file_, digest_.take()));
        }
        co_return std::move(event);
      }
      auto& entry = std::get<LayerEntry>(*event);
      left_ = entry.kind == EntryKind::kFile ? entry.size : 0;
      skips_ = entry.path.empty() || is_ignored(entry);
      if (skips_) {
        if (ignored_ && entry.kind == EntryKind::kFile) left_out_.insert(entry.path);
        continue;
      }
      if (entry.kind == EntryKind::kHardLink && left_out_.contains(entry.target)) {
        co_return bad_context(entry.path + " is the same file as " + entry.target +
                              ", which .dockerignore leaves out: leave out both");
      }
      entry.uid = 0;
      entry.gid = 0;
      if (left_ > 0) {
        file_ = entry;
      } else {
        CAY_CO_CHECK(index_.add(entry, digest_.take()));
      }
      co_return std::move(event);
    }
  }

 private:
  bool is_ignored(const LayerEntry& entry) const {
    return ignored_ && ignored_->ignores(entry.path);
  }

  std::unique_ptr<LayerSource> inner_;
  BuildContext& index_;
  std::optional<dockerfile::IgnoreList> ignored_;
  std::set<std::string> left_out_;
  ContentDigest digest_;
  LayerEntry file_;  // whose content comes
  std::uint64_t left_ = 0;
  bool skips_ = false;
};

}  // namespace

void BuildContext::add_parents(const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    files_.try_emplace(path.substr(0, slash));
}

Result<void> BuildContext::add(const LayerEntry& entry, std::string digest) {
  if (entry.kind == EntryKind::kGone || entry.kind == EntryKind::kOpaque)
    return bad_context("a name in it begins with '.wh.', which marks a removal in an image");
  name_bytes_ += entry.path.size() + entry.target.size();
  if (files_.size() >= kMostFiles)
    return bad_context("it has more than 200,000 files: leave some out by .dockerignore");
  if (name_bytes_ > kMostNameBytes)
    return bad_context("the names in it have more than 64 MiB: leave some out by .dockerignore");
  add_parents(entry.path);
  File file{entry.kind, entry.mode, std::move(digest)};
  if (entry.kind == EntryKind::kSymlink) file.content = entry.target;
  if (entry.kind == EntryKind::kHardLink) {
    const auto first = files_.find(entry.target);
    if (first == files_.end()) return bad_context(entry.path + " links to what is not there");
    file = first->second;
  }
  files_[entry.path] = std::move(file);
  return {};
}

// Returns the path without links in it.
std::optional<std::string> BuildContext::resolve(const std::string& path) const {
  std::string done;
  std::string rest = path == "." ? std::string() : path;
  int links = 0;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string part = rest.substr(0, slash);
    rest = slash == std::string::npos ? std::string() : rest.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      const std::size_t last = done.rfind('/');
      done = last == std::string::npos ? std::string() : done.substr(0, last);
      continue;
    }
    const std::string next = done.empty() ? part : done + "/" + part;
    const auto found = files_.find(next);
    if (found == files_.end()) return std::nullopt;
    if (found->second.kind != EntryKind::kSymlink) {
      done = next;
      continue;
    }
    if (++links > kMostContextLinks) return std::nullopt;
    const std::string& target = found->second.content;
    if (target.starts_with('/')) done.clear();
    rest = rest.empty() ? target : target + "/" + rest;
  }
  return done;
}

Result<std::vector<BuildContext::Found>> BuildContext::find(const std::string& pattern) const {
  std::vector<Found> out;
  const auto add = [&](const std::string& named) {
    const auto path = resolve(named);
    if (!path) return false;
    const auto file = files_.find(*path);
    const bool is_directory = path->empty() || file->second.kind == EntryKind::kDirectory;
    out.push_back({*path, named == "." ? std::string() : last_part_of(named), is_directory});
    return true;
  };
  if (!has_wildcard(pattern)) {
    if (add(pattern)) return out;
    return build_failed("there is no file '" + pattern + "' in the build's context");
  }
  CAY_TRY(const auto names, dockerfile::IgnorePattern::parse(pattern));
  for (const auto& [path, file] : files_) {
    if (names.matches(path)) add(path);
  }
  return out;
}

Result<std::string> BuildContext::digest(const std::vector<std::string>& paths) const {
  std::string text;
  const auto put = [&text](std::string_view field) {
    text += std::to_string(field.size()) + ":";
    text += field;
  };
  const auto put_file = [&](const std::string& name, const File& file) {
    put(name);
    put(std::to_string(static_cast<int>(file.kind)));
    put(std::to_string(file.mode));
    put(file.content);
  };
  for (const std::string& pattern : paths) {
    CAY_TRY(const auto all, find(pattern));
    put(pattern);
    for (const Found& one : all) {
      put(one.name);
      if (const auto file = files_.find(one.path); file != files_.end()) put_file("", file->second);
      if (!one.is_directory) continue;
      const std::string below = one.path.empty() ? std::string() : one.path + "/";
      for (auto at = files_.lower_bound(below); at != files_.end() && at->first.starts_with(below);
           ++at)
        put_file(at->first.substr(below.size()), at->second);
    }
  }
  return sha256_hex(text);
}

std::unique_ptr<LayerSource> context_entries(std::unique_ptr<LayerSource> entries,
                                             BuildContext& index,
                                             std::optional<dockerfile::IgnoreList> ignored) {
  return std::make_unique<ContextEntries>(std::move(entries), index, std::move(ignored));
}

}  // namespace cay::core
