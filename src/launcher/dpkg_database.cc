#include "launcher/dpkg_database.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"

namespace cay::launcher {
namespace {

using Places = std::map<std::string, std::vector<std::size_t>, std::less<>>;

constexpr std::string_view kBlanks = " \t\n";

// Calls `use` for each part of `list` between `mark`s, without the blanks around it.
template <class Use>
void each_part(std::string_view list, char mark, Use use) {
  for (;;) {
    const std::size_t end = list.find(mark);
    if (const auto part = trimmed(list.substr(0, end), kBlanks); !part.empty()) use(part);
    if (end == std::string_view::npos) return;
    list.remove_prefix(end + 1);
  }
}

// "libc6" of "libc6:any (>= 2.36)".
std::string_view name_of(std::string_view relation) {
  return relation.substr(0, relation.find_first_of(" \t(:"));
}

// The fields of a stanza, each with its folded lines.
std::map<std::string_view, std::string_view> fields_of(std::string_view stanza) {
  std::map<std::string_view, std::string_view> out;
  std::string_view name;
  each_line(stanza, [&](std::string_view line) {
    if (line.empty()) return;
    if (line.front() != ' ' && line.front() != '\t') {
      name = line.substr(0, line.find(':'));
      out[name] = line.substr(std::min(name.size() + 1, line.size()));
    } else if (!name.empty()) {
      std::string_view& value = out[name];
      value = {value.data(), static_cast<std::size_t>(line.data() + line.size() - value.data())};
    }
  });
  return out;
}

// " /etc/x 0123… obsolete" -> {"/etc/x", "0123…"}
std::pair<std::string_view, std::string_view> conffile_of(std::string_view line) {
  line = trimmed(line, kBlanks);
  const std::size_t blank = line.find(' ');
  if (!line.starts_with('/') || blank == std::string_view::npos) return {};
  const std::string_view rest = line.substr(blank + 1);
  return {line.substr(0, blank), rest.substr(0, rest.find(' '))};
}

bool in_place(std::string_view status) {
  constexpr std::array<std::string_view, 3> kStates = {"installed", "triggers-awaited",
                                                       "triggers-pending"};
  return std::ranges::find(kStates, status.substr(status.find_last_of(' ') + 1)) != kStates.end();
}

bool of_every_system(const std::map<std::string_view, std::string_view>& fields) {
  const auto is = [&fields](std::string_view name, std::string_view value) {
    const auto found = fields.find(name);
    return found != fields.end() && trimmed(found->second, kBlanks) == value;
  };
  if (is("Essential", "yes") || is("Protected", "yes") || is("Important", "yes")) return true;
  return is("Priority", "required") || is("Priority", "important") || is("Priority", "standard");
}

}  // namespace

DpkgDatabase::DpkgDatabase(std::string_view status) {
  Places places;
  std::vector<std::vector<std::string_view>> relations;
  while (!status.empty()) {
    const std::size_t end = status.find("\n\n");
    const std::size_t size = end == std::string_view::npos ? status.size() : end + 2;
    const std::string_view stanza = status.substr(0, size);
    status.remove_prefix(size);
    const auto fields = fields_of(stanza);
    const auto field = [&fields](std::string_view name) {
      const auto found = fields.find(name);
      return found == fields.end() ? std::string_view() : trimmed(found->second, kBlanks);
    };
    if (field("Package").empty()) continue;
    DpkgPackage package;
    package.name = field("Package");
    package.architecture = field("Architecture");
    package.installed = in_place(field("Status"));
    package.base = of_every_system(fields);
    package.stanza = stanza;
    each_line(field("Conffiles"), [&package](std::string_view line) {
      if (const auto [path, digest] = conffile_of(line); !path.empty())
        package.conffiles.emplace(path, digest);
    });
    const std::size_t place = packages.size();
    if (package.installed) {
      places[package.name].push_back(place);
      each_part(field("Provides"), ',',
                [&](std::string_view one) { places[std::string(name_of(one))].push_back(place); });
    }
    relations.push_back({field("Depends"), field("Pre-Depends")});
    packages.push_back(std::move(package));
  }
  for (std::size_t place = 0; place < packages.size(); ++place) {
    for (const std::string_view list : relations[place]) {
      each_part(list, ',', [&](std::string_view group) {
        std::vector<std::size_t> any;
        each_part(group, '|', [&](std::string_view one) {
          const auto found = places.find(name_of(one));
          if (found != places.end())
            any.insert(any.end(), found->second.begin(), found->second.end());
        });
        if (!any.empty()) packages[place].needs.push_back(std::move(any));
      });
    }
  }
}

std::vector<bool> DpkgDatabase::with_dependents(std::vector<bool> gone) const {
  const auto all_gone = [&gone](const auto& any) {
    return std::ranges::all_of(any, [&gone](std::size_t one) { return gone[one]; });
  };
  for (bool more = true; more;) {
    more = false;
    for (std::size_t place = 0; place < packages.size(); ++place) {
      if (gone[place] || std::ranges::none_of(packages[place].needs, all_gone)) continue;
      gone[place] = more = true;
    }
  }
  return gone;
}

std::string without_conffiles(std::string_view stanza,
                              const std::set<std::string, std::less<>>& absent) {
  constexpr std::string_view kField = "Conffiles:";
  std::string out, kept;
  bool within = false;
  each_line(stanza, [&](std::string_view line) {
    if (within && line.starts_with(' ')) {
      if (!absent.contains(conffile_of(line).first)) kept += std::string(line) + "\n";
      return;
    }
    if (within && !kept.empty()) out += std::string(kField) + "\n" + kept;
    within = line.starts_with(kField);
    if (!within) out += std::string(line) + "\n";
  });
  if (within && !kept.empty()) out += std::string(kField) + "\n" + kept;
  return out;
}

}  // namespace cay::launcher
