// The package sources of apt inside the default snapshot: the distribution's archive for the host's
// release, from the mirror that the host itself uses, if its address contains no secret.
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

// Returns a deb822 sources file for the release that `os_release` names, or "" if it is neither
// Debian's nor Ubuntu's.
//
// From the host's files it takes only the address and components of a mirror of that archive. It
// leaves out entries with a user or password, a query, or a possible token in the path. It leaves
// out what other keys sign (other people's repositories), and everything but http and https. It
// does not replace what is then missing: the host decides which servers are used. If nothing is
// left, the text is a comment with that reason.
//
// `archive_url`, if any, is the operator's address of the archive itself and replaces the host's.
// Security updates stay where the host has them.
std::string apt_sources(std::string_view os_release, const std::vector<AptFile>& host,
                        const std::string& archive_url = "");

// Whether such a text has a mirror in it.
bool names_a_mirror(std::string_view sources);

// "debian" for ID=debian.
std::string os_release_value(std::string_view os_release, std::string_view key);

}  // namespace cay::launcher
