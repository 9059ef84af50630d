#include "core/testing/fake_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

namespace cay::core::testing {
namespace {

constexpr std::int64_t kNanosPerMilli = 1'000'000;
constexpr std::size_t kChunk = 64 * 1024;

std::string absolute(const std::string& path, const FileAs& as) {
  namespace fs = std::filesystem;
  const fs::path base = as.workdir.empty() ? "/" : as.workdir;
  std::string out = (base / path).lexically_normal().string();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

std::string parent_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// Path below `root`, without a leading slash; nothing for the root itself and for others.
std::string below(const std::string& root, const std::string& path) {
  const std::string prefix = root == "/" ? "/" : root + "/";
  return path.size() > prefix.size() && path.starts_with(prefix) ? path.substr(prefix.size())
                                                                 : std::string();
}

bool glob_match(const std::string& pattern, const std::string& relative) {
  // "**/" also stands for no directory at all.
  if (pattern.starts_with("**/") && glob_match(pattern.substr(3), relative)) return true;
  const int flags =
      pattern.find("**") == std::string::npos ? FNM_PATHNAME | FNM_PERIOD : FNM_PERIOD;
  return ::fnmatch(pattern.c_str(), relative.c_str(), flags) == 0;
}

Error no_such_file(const std::string& path) {
  return {Code::kNotFound, "file_not_found", path + ": No such file or directory"};
}
Error is_a_directory(const std::string& path) {
  return {Code::kInvalidArgument, "is_a_directory", path + " is a directory"};
}
Error not_a_directory(const std::string& path) {
  return {Code::kInvalidArgument, "not_a_directory", path + ": Not a directory"};
}
Error disk_is_full(const std::string& path) {
  return {Code::kExhausted, "disk_full",
          path + ": No space left on device: remove files or raise the disk limit"};
}

class VectorBytes : public ByteSource {
 public:
  VectorBytes(Bytes bytes, std::size_t chunk, int fail_after)
      : bytes_(std::move(bytes)), chunk_(chunk), left_(fail_after) {}
  Task<Bytes> next() override {
    if (left_ == 0) co_return Error{Code::kCancelled, "client_gone", "the client went away"};
    if (left_ > 0) --left_;
    Bytes out = bytes_.substr(at_, chunk_);
    at_ += out.size();
    co_return out;
  }

 private:
  Bytes bytes_;
  std::size_t chunk_;
  int left_;
  std::size_t at_ = 0;
};

class VectorTree : public TreeSource {
 public:
  explicit VectorTree(std::vector<TreeEvent> events) : events_(std::move(events)) {}
  Task<std::optional<TreeEvent>> next() override {
    if (at_ == events_.size()) co_return std::optional<TreeEvent>();
    co_return std::optional<TreeEvent>(events_[at_++]);
  }

 private:
  std::vector<TreeEvent> events_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> bytes_source(Bytes bytes, std::size_t chunk, int fail_after) {
  return std::make_unique<VectorBytes>(std::move(bytes), chunk, fail_after);
}
std::unique_ptr<TreeSource> tree_source(std::vector<TreeEvent> events) {
  return std::make_unique<VectorTree>(std::move(events));
}

FakeFiles::FakeFiles(std::function<UnixMillis()> now) : now_(std::move(now)) {
  put_directory("/");
  put_directory("/home/user");
  put_directory("/tmp", 01777);
}

FakeFiles::Node& FakeFiles::add(const std::string& path, FileKind kind, std::uint32_t mode) {
  if (path != "/" && !tree.contains(parent_of(path)))
    add(parent_of(path), FileKind::kDirectory, 0755);
  Node& node = tree[path];
  node.info.path = path;
  node.info.kind = kind;
  node.info.mode = mode;
  node.info.mtime_ns = now_() * kNanosPerMilli;
  node.info.inode = next_inode_++;  // a rename over the old file: a new inode
  return node;
}

void FakeFiles::put(const std::string& path, Bytes bytes, std::uint32_t mode) {
  Node& node = add(path, FileKind::kFile, mode);
  node.info.size = bytes.size();
  node.bytes = std::move(bytes);
}

void FakeFiles::put_directory(const std::string& path, std::uint32_t mode) {
  add(path, FileKind::kDirectory, mode);
}

std::optional<Bytes> FakeFiles::bytes_of(const std::string& path) const {
  const auto found = tree.find(path);
  if (found == tree.end()) return std::nullopt;
  return found->second.bytes;
}

Result<FakeFiles::Node*> FakeFiles::find(const std::string& path) {
  const auto found = tree.find(path);
  if (found == tree.end()) return no_such_file(path);
  return &found->second;
}

Result<FileInfo> FakeFiles::stat(const std::string& path, const FileAs& as) {
  CAY_TRY(Node * node, find(absolute(path, as)));
  return node->info;
}

Result<FileStream> FakeFiles::read(const std::string& path, const FileAs& as, ReadRange range) {
  CAY_TRY(Node * node, find(absolute(path, as)));
  if (node->info.kind == FileKind::kDirectory) return is_a_directory(path);
  if (range.offset > node->bytes.size()) {
    return Error{Code::kOutOfRange, "offset_past_end",
                 path + " has " + std::to_string(node->bytes.size()) + " bytes"};
  }
  FileStream stream;
  stream.info = node->info;
  const std::size_t length =
      range.length < 0 ? Bytes::npos : static_cast<std::size_t>(range.length);
  stream.bytes = bytes_source(node->bytes.substr(range.offset, length));
  return stream;
}

Task<FileInfo> FakeFiles::write(std::string path, WriteOptions options,
                                std::unique_ptr<ByteSource> data) {
  const std::string target = absolute(path, options.as);
  Bytes bytes;
  for (;;) {
    CAY_CO_TRY(Bytes chunk, co_await data->next());
    if (chunk.empty()) break;
    if (disk_full) co_return disk_is_full(path);
    bytes += chunk;
  }
  if (disk_full) co_return disk_is_full(path);
  const auto old = tree.find(target);
  if (old != tree.end() && old->second.info.kind == FileKind::kDirectory)
    co_return is_a_directory(path);
  if (!options.create_parents && !tree.contains(parent_of(target)))
    co_return no_such_file(parent_of(target));
  const std::uint32_t mode =
      old != tree.end() && options.keep_mode ? old->second.info.mode : options.mode;
  put(target, std::move(bytes), mode);
  co_return tree.at(target).info;
}

Result<std::vector<FileInfo>> FakeFiles::list(const std::string& path, const FileAs& as) {
  const std::string root = absolute(path, as);
  CAY_TRY(Node * node, find(root));
  if (node->info.kind != FileKind::kDirectory) return not_a_directory(path);
  std::vector<FileInfo> out;
  for (const auto& [name, child] : tree) {
    const std::string relative = below(root, name);
    if (!relative.empty() && relative.find('/') == std::string::npos) out.push_back(child.info);
  }
  return out;
}

Result<void> FakeFiles::make_directory(const std::string& path, const FileAs& as,
                                       std::uint32_t mode) {
  if (disk_full) return disk_is_full(path);
  const std::string target = absolute(path, as);
  const auto found = tree.find(target);
  if (found == tree.end()) {
    put_directory(target, mode);
  } else if (found->second.info.kind != FileKind::kDirectory) {
    return Error{Code::kAlreadyExists, "file_exists", path + ": File exists"};
  }
  return {};
}

Result<void> FakeFiles::remove(const std::string& path, const FileAs& as, bool recursive) {
  const std::string root = absolute(path, as);
  CAY_TRY(Node * node, find(root));
  const bool has_children = std::any_of(tree.begin(), tree.end(), [&](const auto& entry) {
    return !below(root, entry.first).empty();
  });
  if (node->info.kind == FileKind::kDirectory && has_children && !recursive) {
    return Error{Code::kInvalidArgument, "directory_not_empty",
                 path + ": Directory not empty: remove recursively"};
  }
  std::erase_if(tree, [&](const auto& entry) {
    return entry.first == root || !below(root, entry.first).empty();
  });
  return {};
}

Result<void> FakeFiles::rename(const std::string& from, const std::string& to, const FileAs& as) {
  const std::string old_root = absolute(from, as);
  const std::string new_root = absolute(to, as);
  CAY_TRY(Node * node, find(old_root));
  std::map<std::string, Node> moved{{new_root, *node}};
  for (const auto& [name, child] : tree) {
    const std::string relative = below(old_root, name);
    if (!relative.empty()) moved[new_root + "/" + relative] = child;
  }
  CAY_CHECK(remove(from, as, true));
  for (auto& [name, child] : moved) {
    child.info.path = name;
    tree[name] = std::move(child);
  }
  return {};
}

Result<GlobResult> FakeFiles::glob(const std::string& root, const std::string& pattern,
                                   const FileAs& as, std::uint32_t limit) {
  const std::string top = absolute(root, as);
  CAY_CHECK(find(top));
  GlobResult out;
  for (const auto& [name, node] : tree) {
    const std::string relative = below(top, name);
    if (relative.empty() || !glob_match(pattern, relative)) continue;
    if (limit != 0 && out.matches.size() == limit) {
      out.truncated = true;
      break;
    }
    out.matches.push_back(node.info);
  }
  return out;
}

Result<GrepResult> FakeFiles::grep(const std::string& root, const std::string& text,
                                   const std::string& file_glob, const FileAs& as,
                                   std::uint32_t limit) {
  const std::string top = absolute(root, as);
  CAY_CHECK(find(top));
  GrepResult out;
  for (const auto& [name, node] : tree) {
    if (node.info.kind != FileKind::kFile || (name != top && below(top, name).empty())) continue;
    const std::string base = std::filesystem::path(name).filename().string();
    if (!file_glob.empty() &&
        !glob_match(file_glob,
                    file_glob.find('/') == std::string::npos ? base : below(top, name))) {
      continue;
    }
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < node.bytes.size();) {
      const std::size_t line_end = std::min(node.bytes.find('\n', at), node.bytes.size());
      const std::string line = node.bytes.substr(at, line_end - at);
      ++number;
      at = line_end + 1;
      if (line.find(text) == std::string::npos) continue;
      if (limit != 0 && out.matches.size() == limit) {
        out.truncated = true;
        return out;
      }
      out.matches.push_back({name, number, line});
    }
  }
  return out;
}

Result<std::unique_ptr<TreeSource>> FakeFiles::read_tree(const std::string& path,
                                                         const FileAs& as) {
  const std::string root = absolute(path, as);
  CAY_CHECK(find(root));
  std::vector<TreeEvent> events;
  for (const auto& [name, node] : tree) {
    const std::string relative = below(root, name);
    if (name != root && relative.empty()) continue;
    TreeEntry entry{node.info};
    entry.info.path = relative;
    events.emplace_back(entry);
    if (node.info.kind != FileKind::kFile) continue;
    for (std::size_t at = 0; at < node.bytes.size(); at += kChunk)
      events.emplace_back(node.bytes.substr(at, kChunk));
  }
  return tree_source(std::move(events));
}

Task<void> FakeFiles::write_tree(std::string path, FileAs as, std::unique_ptr<TreeSource> source) {
  const std::string root = absolute(path, as);
  std::string current;
  for (;;) {
    CAY_CO_TRY(std::optional<TreeEvent> event, co_await source->next());
    if (!event) co_return Result<void>();
    if (disk_full) co_return disk_is_full(path);
    if (auto* bytes = std::get_if<Bytes>(&*event)) {
      Node& node = tree.at(current);
      node.bytes += *bytes;
      node.info.size = node.bytes.size();
      continue;
    }
    const FileInfo& info = std::get<TreeEntry>(*event).info;
    current = info.path.empty() ? root : absolute(info.path, {as.user, root});
    Node& node = add(current, info.kind, info.mode);
    node.bytes.clear();
    node.info.size = 0;
    node.info.target = info.target;
    node.info.mtime_ns = info.mtime_ns;
  }
}

}  // namespace cay::core::testing
