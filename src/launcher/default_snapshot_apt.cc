#include "launcher/default_snapshot_apt.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/ascii.h"

namespace cay::launcher {
namespace {

using Words = std::vector<std::string>;

struct Entry {
  Words types, uris, suites, components;
  std::string signed_by;
  bool enabled = true;
};

struct Mirror {
  std::string uri;
  std::string components;
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

Words words_of(std::string_view text) {
  Words words;
  for (std::size_t at = 0; at < text.size();) {
    at = std::min(text.find_first_not_of(" \t\r", at), text.size());
    const std::size_t end = std::min(text.find_first_of(" \t\r", at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string joined(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// deb [signed-by=/x arch=amd64] URI SUITE COMPONENT…
void read_line(std::string_view line, std::vector<Entry>& out) {
  line = line.substr(0, line.find('#'));
  Entry entry;
  const std::size_t open = line.find('[');
  std::string plain(line);
  if (open != std::string_view::npos) {
    const std::size_t close = line.find(']', open);
    if (close == std::string_view::npos) return;
    for (const std::string& option : words_of(line.substr(open + 1, close - open - 1))) {
      if (option.starts_with("signed-by=")) entry.signed_by = option.substr(10);
    }
    plain = std::string(line.substr(0, open)) + " " + std::string(line.substr(close + 1));
  }
  Words words = words_of(plain);
  if (words.size() < 4) return;
  entry.types = {words[0]};
  entry.uris = {words[1]};
  entry.suites = {words[2]};
  entry.components.assign(words.begin() + 3, words.end());
  out.push_back(std::move(entry));
}

void add_stanza(std::map<std::string, std::string>& fields, std::vector<Entry>& out) {
  if (!fields.empty()) {
    Entry entry;
    entry.types = words_of(fields["types"]);
    entry.uris = words_of(fields["uris"]);
    entry.suites = words_of(fields["suites"]);
    entry.components = words_of(fields["components"]);
    entry.signed_by = joined(words_of(fields["signed-by"]));
    entry.enabled = joined(words_of(fields["enabled"])) != "no";
    out.push_back(std::move(entry));
  }
  fields.clear();
}

void read_stanzas(std::string_view text, std::vector<Entry>& out) {
  std::map<std::string, std::string> fields;
  std::string last;
  for (const std::string_view line : lines_of(text)) {
    if (line.starts_with('#')) continue;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      add_stanza(fields, out);
    } else if (line.front() == ' ' || line.front() == '\t') {
      fields[last] += " " + std::string(line);
    } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
      last = lowered(line.substr(0, colon));
      fields[last] = std::string(line.substr(colon + 1));
    }
  }
  add_stanza(fields, out);
}

bool is_any_of(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool only_of(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [more](char c) {
    return is_letter(c) || is_digit(c) || more.find(c) != std::string_view::npos;
  });
}

// Whether `uri` is a mirror of `archive` ("debian") by its path, and holds nothing that may be a
// secret.
bool is_mirror(std::string_view uri, std::string_view archive) {
  constexpr std::size_t kLongestPart = 16;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!uri.starts_with(scheme)) continue;
    uri.remove_prefix(scheme.size());
    while (uri.ends_with('/')) uri.remove_suffix(1);
    const std::size_t slash = uri.find('/');
    if (slash == std::string_view::npos || !only_of(uri.substr(0, slash), ".-:[]"))
      return false;  // no '@': no user
    std::string_view path = uri.substr(slash + 1);
    if (path != archive && !path.ends_with("/" + std::string(archive))) return false;
    path = path.substr(0, path.size() - archive.size());
    while (!path.empty()) {
      const std::size_t end = path.find('/');
      const std::string_view part = path.substr(0, end);
      if (part.size() > kLongestPart || !only_of(part, "-_.") ||
          part.find_first_of("0123456789") != std::string_view::npos)
        return false;
      path.remove_prefix(end + 1);
    }
    return true;
  }
  return false;
}

// Returns the host's mirror of `archive` for `suite`, if it has one whose address contains no
// secret.
std::optional<Mirror> mirror_of(const std::vector<Entry>& entries, const std::string& suite,
                                std::string_view archive, const std::string& key) {
  for (const Entry& entry : entries) {
    const bool ours = entry.signed_by.empty() || entry.signed_by == "/usr/share/keyrings/" + key;
    if (!entry.enabled || !ours || !is_any_of(entry.types, "deb") ||
        !is_any_of(entry.suites, suite))
      continue;
    const bool plain = std::all_of(entry.components.begin(), entry.components.end(),
                                   [](const std::string& one) { return only_of(one, "-"); });
    if (!plain || entry.components.empty()) continue;
    for (const std::string& uri : entry.uris) {
      if (is_mirror(uri, archive)) return Mirror{uri, joined(entry.components)};
    }
  }
  return std::nullopt;
}

std::string stanza(const std::optional<Mirror>& mirror, const std::string& suites,
                   const std::string& key) {
  if (!mirror) return "";
  return "Types: deb\nURIs: " + mirror->uri + "\nSuites: " + suites +
         "\nComponents: " + mirror->components + "\nSigned-By: /usr/share/keyrings/" + key + "\n\n";
}

constexpr const char* kNone =
    "# The host's own package sources name no mirror of the distribution that could be taken over "
    "(cay doctor says\n"
    "# so): write one here to install packages.\n";

}  // namespace

std::string os_release_value(std::string_view os_release, std::string_view key) {
  for (std::string_view line : lines_of(os_release)) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != '=') continue;
    line.remove_prefix(key.size() + 1);
    if (line.size() >= 2 && line.front() == '"') line = line.substr(1, line.size() - 2);
    return std::string(line);
  }
  return "";
}

std::string apt_sources(std::string_view os_release, const std::vector<AptFile>& host,
                        const std::string& archive_url) {
  const std::string id = os_release_value(os_release, "ID"),
                    suite = os_release_value(os_release, "VERSION_CODENAME");
  if (!only_of(suite, "-")) return "";
  std::vector<Entry> entries;
  for (const AptFile& file : host) {
    if (file.form == AptFile::Form::kStanzas) {
      read_stanzas(file.text, entries);
    } else {
      for (const std::string_view line : lines_of(file.text)) read_line(line, entries);
    }
  }
  const std::string security = suite + "-security", updates = suite + " " + suite + "-updates";
  const auto archive_of = [&](std::string_view archive, const std::string& key) {
    auto mirror = mirror_of(entries, suite, archive, key);
    if (!archive_url.empty()) mirror = Mirror{archive_url, mirror ? mirror->components : "main"};
    return mirror;
  };
  std::string sources;
  if (id == "debian") {
    const std::string key = "debian-archive-keyring.gpg";
    sources = stanza(archive_of("debian", key), updates, key) +
              stanza(mirror_of(entries, security, "debian-security", key), security, key);
  } else if (id == "ubuntu") {
    const std::string key = "ubuntu-archive-keyring.gpg";
#if defined(__x86_64__)
    const std::string archive = "ubuntu";
#else
    const std::string archive = "ubuntu-ports";
#endif
    sources = stanza(archive_of(archive, key), updates, key) +
              stanza(mirror_of(entries, security, archive, key), security, key);
  } else {
    return "";
  }
  return sources.empty() ? kNone : sources;
}

bool names_a_mirror(std::string_view sources) {
  return sources.find("\nURIs: ") != std::string_view::npos;
}

}  // namespace cay::launcher
