// DpkgDatabase: a Debian package database as text (dpkg's `status` file, deb-control(5)), and which
// of its packages another system can do without. Pure: it opens no file.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cay::launcher {

struct DpkgPackage {
  std::string name, architecture;
  bool installed = false;
  bool base = false;        // essential, or of a priority that every Debian system has
  std::string_view stanza;  // its text, with the line end behind it
  std::map<std::string, std::string, std::less<>>
      conffiles;  // absolute path -> MD5 of the package's own
  std::vector<std::string>
      files;  // absolute paths of all its files and directories; filled in by the user
  // Each of these needs one of its packages (by their place in the database); those that name none
  // of it are left out.
  std::vector<std::vector<std::size_t>> needs;
};

class DpkgDatabase {
 public:
  // `status` must outlive this.
  explicit DpkgDatabase(std::string_view status);

  std::vector<DpkgPackage> packages;

  // Marks in `gone`, which has a place for each package, those that need one of it, and so on.
  std::vector<bool> with_dependents(std::vector<bool> gone) const;
};

// A status stanza without the conffiles in `absent`.
std::string without_conffiles(std::string_view stanza,
                              const std::set<std::string, std::less<>>& absent);

// Calls `use` for each line of `text`, without its end.
template <class Use>
void each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    use(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace cay::launcher
