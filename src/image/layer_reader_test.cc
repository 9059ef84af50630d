#include "image/layer_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace cay::image {
namespace {

// A tar of entries that no writer of ours makes.
class Tar {
 public:
  explicit Tar(int filter = ARCHIVE_FILTER_NONE) : out_(64 << 20, '\0'), to_(archive_write_new()) {
    archive_write_set_format_pax(to_);
    archive_write_add_filter(to_, filter);
    archive_write_open_memory(to_, out_.data(), out_.size(), &used_);
  }
  ~Tar() { archive_write_free(to_); }
  using Change = std::function<void(archive_entry*)>;
  Tar& add(const std::string& name, unsigned type, const std::string& bytes = "",
           const Change& change = nullptr) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 0755);
    archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
    if (change) change(entry);
    archive_write_header(to_, entry);
    if (!bytes.empty()) archive_write_data(to_, bytes.data(), bytes.size());
    archive_entry_free(entry);
    return *this;
  }
  std::string end() {
    archive_write_close(to_);
    return out_.substr(0, used_);
  }

 private:
  std::string out_;
  std::size_t used_ = 0;
  struct ::archive* to_;
};

struct Read {
  std::vector<core::LayerEntry> entries;
  std::vector<std::string> contents;
  std::string error, digest;
  std::uint64_t devices = 0;
};

Read read(const std::string& bytes, const std::string& diff_id = "", LayerLimits limits = {}) {
  std::size_t at = 0;
  LayerReader reader(
      [&]() -> Result<std::string> {
        std::string piece = bytes.substr(at, 1000);
        at += piece.size();
        return piece;
      },
      diff_id, limits);
  Read out;
  for (;;) {
    auto event = reader.next();
    if (!event) {
      out.error = event.error().reason;
      return out;
    }
    if (!*event) break;
    if (auto* entry = std::get_if<core::LayerEntry>(&**event)) {
      out.entries.push_back(*entry);
      out.contents.emplace_back();
    } else {
      out.contents.back() += std::get<std::string>(**event);
    }
  }
  out.digest = reader.digest();
  out.devices = reader.devices();
  return out;
}

std::string refused(const std::string& name, unsigned type = AE_IFREG,
                    const Tar::Change& change = nullptr) {
  return read(Tar().add(name, type, "", change).end()).error;
}

TEST(LayerReader, GivesEntriesAsTheyAre) {
  Tar tar(ARCHIVE_FILTER_GZIP);
  tar.add("./", AE_IFDIR);
  tar.add("./d/", AE_IFDIR, "", [](archive_entry* e) {
    archive_entry_set_perm(e, 02770);
    archive_entry_set_uid(e, 1000);
    archive_entry_set_gid(e, 50);
    archive_entry_set_mtime(e, 7, 5);
  });
  tar.add("d/f", AE_IFREG, std::string(100'000, 'x'), [](archive_entry* e) {
    archive_entry_set_perm(e, 04755);
    archive_entry_xattr_add_entry(e, "user.a", "b", 1);
    archive_entry_xattr_add_entry(e, "security.capability", "c", 1);
    archive_entry_xattr_add_entry(e, "trusted.overlay.opaque", "y", 1);
  });
  tar.add("d/h", AE_IFREG, "", [](archive_entry* e) { archive_entry_set_hardlink(e, "d/f"); });
  tar.add("l", AE_IFLNK, "", [](archive_entry* e) { archive_entry_set_symlink(e, "/etc/x"); });
  tar.add("p", AE_IFIFO);
  tar.add("dev/null", AE_IFCHR);
  tar.add("d/.wh.gone", AE_IFREG);
  const std::string bytes = tar.end();
  const Read got = read(bytes);
  ASSERT_EQ(got.error, "");
  ASSERT_EQ(got.entries.size(), 6U);
  const auto& dir = got.entries[0];
  EXPECT_EQ(dir.path, "d");
  EXPECT_EQ(dir.kind, core::EntryKind::kDirectory);
  EXPECT_EQ(dir.mode, 02770U);
  EXPECT_EQ(dir.uid, 1000U);
  EXPECT_EQ(dir.gid, 50U);
  EXPECT_EQ(dir.mtime_ns, 7'000'000'005);
  EXPECT_EQ(got.entries[1].path, "d/f");
  EXPECT_EQ(got.entries[1].mode, 04755U);
  EXPECT_EQ(got.contents[1], std::string(100'000, 'x'));
  EXPECT_EQ(got.entries[1].xattrs,
            (std::map<std::string, std::string>{{"user.a", "b"}, {"security.capability", "c"}}));
  EXPECT_EQ(got.entries[2].kind, core::EntryKind::kHardLink);
  EXPECT_EQ(got.entries[2].target, "d/f");
  EXPECT_EQ(got.entries[3].kind, core::EntryKind::kSymlink);
  EXPECT_EQ(got.entries[3].target, "/etc/x");
  EXPECT_EQ(got.entries[4].kind, core::EntryKind::kFifo);
  EXPECT_EQ(got.entries[5].kind, core::EntryKind::kGone);
  EXPECT_EQ(got.entries[5].path, "d/gone");
  EXPECT_EQ(got.devices, 1U);
  EXPECT_EQ(read(bytes, got.digest).error, "");
}

TEST(LayerReader, ReadsOpaqueDirectoriesAndAufsRecords) {
  const Read got = read(Tar()
                            .add("d", AE_IFDIR)
                            .add("d/.wh..wh..opq", AE_IFREG)
                            .add("d/x", AE_IFREG, "1")
                            .add(".wh..wh.aufs", AE_IFREG)
                            .add(".wh..wh.plnk/1.2", AE_IFREG)
                            .end());
  ASSERT_EQ(got.error, "");
  ASSERT_EQ(got.entries.size(), 3U);
  EXPECT_EQ(got.entries[1].kind, core::EntryKind::kOpaque);
  EXPECT_EQ(got.entries[1].path, "d");
  // After its entries it would remove them.
  EXPECT_EQ(read(Tar().add("d/e/x", AE_IFREG).add("d/.wh..wh..opq", AE_IFREG).end()).error,
            "bad_layer");
}

TEST(LayerReader, RefusesPathsThatLeadOut) {
  EXPECT_EQ(refused("a/b"), "");  // the control
  EXPECT_EQ(refused("/etc/passwd"), "bad_layer");
  EXPECT_EQ(refused("../x"), "bad_layer");
  EXPECT_EQ(refused("a/../../x"), "bad_layer");
  EXPECT_EQ(refused("a/.wh...."), "");  // of a name of three dots
  EXPECT_EQ(refused("a/.wh..."), "bad_layer");
  EXPECT_EQ(refused("a/.wh.."), "bad_layer");
  EXPECT_EQ(refused("a/.wh."), "bad_layer");
  EXPECT_EQ(refused("a/.wh.x/y"), "bad_layer");
  EXPECT_EQ(refused(".wh..wh..opq"), "bad_layer");
  const auto to = [](const char* target) {
    return [target](archive_entry* e) { archive_entry_set_hardlink(e, target); };
  };
  EXPECT_EQ(refused("h", AE_IFREG, to("a/b")), "");
  EXPECT_EQ(refused("h", AE_IFREG, to("/etc/passwd")), "bad_layer");
  EXPECT_EQ(refused("h", AE_IFREG, to("../x")), "bad_layer");
  EXPECT_EQ(refused("h", AE_IFREG, to("./h")), "bad_layer");
}

TEST(LayerReader, TheEndComesOnlyWithTheDigest) {
  const std::string bytes = Tar().add("a", AE_IFREG, "1").end();
  const std::string digest = digest_of(bytes);
  EXPECT_EQ(read(bytes, digest).error, "");
  EXPECT_EQ(read(bytes, "sha256:" + std::string(64, '0')).error, "digest_mismatch");
  EXPECT_EQ(read(bytes + "behind the end", digest).error, "digest_mismatch");
  std::string flipped = bytes;
  flipped[512] = '2';  // the file's byte
  EXPECT_EQ(read(flipped, digest).error, "digest_mismatch");
}

TEST(LayerReader, RefusesWhatIsCutOffOrNoTar) {
  const std::string bytes = Tar().add("a", AE_IFREG, std::string(5000, '1')).end();
  for (const std::size_t size : {0UL, 100UL, 512UL, 700UL, 5000UL, 5632UL})
    EXPECT_EQ(read(bytes.substr(0, size)).error, "bad_layer") << size;
  EXPECT_EQ(read(std::string(2000, 'x')).error, "bad_layer");
  const std::string packed = Tar(ARCHIVE_FILTER_GZIP).add("a", AE_IFREG, "1").end();
  EXPECT_EQ(read(packed.substr(0, packed.size() / 2)).error, "bad_layer");
}

TEST(LayerReader, EndsABombAtItsLimit) {
  const std::string bomb =
      Tar(ARCHIVE_FILTER_GZIP).add("zeros", AE_IFREG, std::string(32 << 20, '\0')).end();
  EXPECT_LT(bomb.size(), 100'000U);
  LayerLimits limits;
  EXPECT_EQ(read(bomb, "", limits).error, "");
  limits.bytes = 1 << 20;
  EXPECT_EQ(read(bomb, "", limits).error, "bad_layer");
  limits = {};
  limits.entries = 1;
  EXPECT_EQ(read(Tar().add("a", AE_IFREG).add("b", AE_IFREG).end(), "", limits).error, "bad_layer");
}

TEST(LayerReader, FillsTheHolesOfAFile) {
  const Read got =
      read(Tar()
               .add("s", AE_IFREG, std::string(8192, '\0') + "end",
                    [](archive_entry* e) { archive_entry_sparse_add_entry(e, 8192, 3); })
               .end());
  ASSERT_EQ(got.error, "");
  ASSERT_EQ(got.entries.size(), 1U);
  EXPECT_EQ(got.entries[0].size, 8195U);
  EXPECT_EQ(got.contents[0], std::string(8192, '\0') + "end");
}

}  // namespace
}  // namespace cay::image
