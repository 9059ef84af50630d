// Where apt inside the default snapshot gets packages: the distribution's archive for the host's release, from
// the mirror that the host itself uses where it can be told without telling a secret.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cay::launcher {

// A file of /etc/apt: sources.list and *.list have one entry a line, *.sources are deb822.
struct AptFile {
  enum class Form { kLines, kStanzas } form = Form::kLines;
  std::string text;
};

// A deb822 sources file for the release that `os_release` names; "" where it is neither Debian's nor Ubuntu's.
// Of the host's files only the address and components of a mirror of that archive are taken. Left out: entries
// with a user or password, a query, or what may be a token in the path; those signed by other keys (other
// people's repositories); everything but http and https. What is then missing is left out: which servers are asked
// is the host's to say. If nothing is left, the text is a comment that says so. `archive_url`, if any, is the operator's
// word for the archive itself and stands in the place of the host's; security updates stay where the host has them.
std::string apt_sources(std::string_view os_release, const std::vector<AptFile>& host, const std::string& archive_url = "");

// Whether such a text has a mirror in it.
bool names_a_mirror(std::string_view sources);

// "debian" for ID=debian.
std::string os_release_value(std::string_view os_release, std::string_view key);

}  // namespace cay::launcher
