#include "image/layer_writer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <optional>
#include <vector>

#include "image/blob_store.h"
#include "image/layer_reader.h"

namespace cay::image {
namespace {

core::LayerEntry entry(const std::string& path, core::EntryKind kind) {
  core::LayerEntry out;
  out.path = path;
  out.kind = kind;
  return out;
}

bool is_same(const core::LayerEntry& a, const core::LayerEntry& b) {
  return a.path == b.path && a.kind == b.kind && a.size == b.size && a.mode == b.mode &&
         a.uid == b.uid && a.gid == b.gid && a.mtime_ns == b.mtime_ns && a.target == b.target &&
         a.xattrs == b.xattrs;
}

TEST(LayerWriter, WritesEntriesThatTheReaderGivesBack) {
  std::vector<core::LayerEntry> entries;
  auto dir = entry("d", core::EntryKind::kDirectory);
  dir.mode = 01777;
  dir.uid = 1000;
  dir.gid = 70'000;
  dir.mtime_ns = 5'000'000'000;
  entries.push_back(dir);
  entries.push_back(entry("d", core::EntryKind::kOpaque));
  auto file = entry("d/" + std::string(200, 'n'), core::EntryKind::kFile);
  file.size = 100'000;
  file.mode = 04755;
  file.mtime_ns = -1'000'000'000;
  file.xattrs = {{"user.a", "b"}, {"security.capability", std::string("\x01\x00\x02", 3)}};
  entries.push_back(file);
  auto hard = entry("d/hard", core::EntryKind::kHardLink);
  hard.target = file.path;
  hard.mode = 04755;
  entries.push_back(hard);
  auto link = entry("l", core::EntryKind::kSymlink);
  link.target = "../" + std::string(150, 't');
  link.mode = 0777;
  entries.push_back(link);
  entries.push_back(entry("p", core::EntryKind::kFifo));
  entries.push_back(entry("d/gone", core::EntryKind::kGone));
  entries.push_back(entry("top-gone", core::EntryKind::kGone));

  auto writer = LayerWriter::create(UniqueFd(::memfd_create("layer", MFD_CLOEXEC)));
  ASSERT_TRUE(writer) << writer.error().message;
  // The reader leaves the root's own entry out.
  ASSERT_TRUE(writer->add(entry("", core::EntryKind::kDirectory)));
  for (const core::LayerEntry& one : entries) {
    const auto added = writer->add(one);
    ASSERT_TRUE(added) << added.error().message;
    if (one.kind == core::EntryKind::kFile) ASSERT_TRUE(writer->add(std::string(100'000, 'x')));
  }
  const auto written = writer->finish();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_LT(written->size, 10'000U);

  std::vector<core::LayerEntry> found;
  std::string content;
  LayerReader reader(bytes_of(written->file.get()), written->diff_id);
  for (;;) {
    const auto event = reader.next();
    ASSERT_TRUE(event) << event.error().message;
    if (!*event) break;
    if (const auto* bytes = std::get_if<std::string>(&**event)) {
      content += *bytes;
    } else {
      found.push_back(std::get<core::LayerEntry>(**event));
    }
  }
  EXPECT_EQ(content, std::string(100'000, 'x'));
  ASSERT_EQ(found.size(), entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i)
    EXPECT_TRUE(is_same(found[i], entries[i])) << i << " " << found[i].path;
}

}  // namespace
}  // namespace cay::image
