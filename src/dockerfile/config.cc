#include "dockerfile/config.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "dockerfile/paths.h"
#include "dockerfile/text.h"

namespace cay::dockerfile {
namespace {

constexpr std::size_t kMostPorts = 65535;  // that the EXPOSE of a stage name together

Error not_applied(std::string what) {
  return Error{Code::kInvalidArgument, "invalid_dockerfile", std::move(what), 0};
}

std::optional<unsigned> port_of(std::string_view text) {
  unsigned out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (out == 0 || out > 65535) return std::nullopt;
  return out;
}

// "80", "53/udp", "8000-8010/tcp".
Result<void> add_ports(std::string_view text, StageConfig& config) {
  const std::size_t slash = text.find('/');
  const std::string protocol =
      slash == std::string_view::npos ? "tcp" : lowered(text.substr(slash + 1));
  const std::string_view numbers = text.substr(0, slash);
  const std::size_t dash = numbers.find('-');
  const auto first = port_of(numbers.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : port_of(numbers.substr(dash + 1));
  const bool known = protocol == "tcp" || protocol == "udp" || protocol == "sctp";
  if (!first || !last || *last < *first || !known) {
    return not_applied("'" + shown(text) + "' is no port: write 80, 53/udp or 8000-8010");
  }
  config.ports_named += *last - *first + 1;
  if (config.ports_named > kMostPorts)
    return not_applied("EXPOSE names more than " + std::to_string(kMostPorts) + " ports");
  std::vector<std::string> added, all;
  for (unsigned port = *first; port <= *last; ++port)
    added.push_back(std::to_string(port) + "/" + protocol);
  std::ranges::sort(added);
  auto& ports = config.image.ports;
  std::set_union(std::make_move_iterator(ports.begin()), std::make_move_iterator(ports.end()),
                 std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()),
                 std::back_inserter(all));
  ports = std::move(all);
  return {};
}

struct Applier {
  StageConfig& config;

  Result<void> operator()(const Env& env) {
    for (const auto& one : env.set) {
      if (one.name.empty() || one.name.find('=') != std::string::npos) {
        return not_applied("'" + shown(one.name) + "' is no name for ENV");
      }
      config.image.run.env[one.name] = one.value;
    }
    return {};
  }
  Result<void> operator()(const Label& label) {
    for (const auto& one : label.set) {
      if (one.name.empty()) return not_applied("a label has no name");
      config.image.labels[one.name] = one.value;
    }
    return {};
  }
  Result<void> operator()(const Workdir& workdir) {
    if (workdir.path.empty()) return not_applied("the path of WORKDIR is empty");
    config.image.run.workdir = absolute_path(config.image.run.workdir.value_or("/"), workdir.path);
    return {};
  }
  Result<void> operator()(const User& user) {
    if (user.name.empty()) return not_applied("the name of USER is empty");
    config.image.run.user = user.name;
    return {};
  }
  Result<void> operator()(const Shell& shell) {
    config.shell = shell.words;
    return {};
  }
  Result<void> operator()(const Expose& expose) {
    for (const auto& port : expose.ports) {
      CAY_CHECK(add_ports(port, config));
    }
    return {};
  }
  Result<void> operator()(const Cmd& cmd) {
    config.image.command = arguments_of(cmd.command, config.shell);
    config.has_command = true;
    return {};
  }
  Result<void> operator()(const Entrypoint& entrypoint) {
    config.image.entrypoint = arguments_of(entrypoint.command, config.shell);
    if (!config.has_command) config.image.command.clear();
    return {};
  }
  Result<void> operator()(const Run& /*changes files*/) { return {}; }
  Result<void> operator()(const Copy& /*changes files*/) { return {}; }
  Result<void> operator()(const Arg& /*is a variable of the build*/) { return {}; }
  Result<void> operator()(const Ignored& /*means nothing here*/) { return {}; }
};

}  // namespace

Result<void> apply(const Meaning& instruction, StageConfig& config) {
  return std::visit(Applier{config}, instruction);
}

std::vector<std::string> arguments_of(const CommandLine& command,
                                      const std::vector<std::string>& shell) {
  if (!command.shell) return command.words;
  std::vector<std::string> out = shell;
  out.insert(out.end(), command.words.begin(), command.words.end());
  return out;
}

}  // namespace cay::dockerfile
