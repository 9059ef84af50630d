#include "cli/docker_config.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/unique_fd.h"
#include "cli/answers.h"
#include "cli/output.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "model/snapshot_request.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr std::string_view kDockerHub = "docker.io";
// The key of Docker Hub in the file, and its name for helpers.
constexpr const char* kDockerHubKey = "https://index.docker.io/v1/";
// The name of the user beside a token, as helpers print it.
constexpr std::string_view kTokenUser = "<token>";
// A helper without a login prints this, with exit code 1.
constexpr std::string_view kNoneKept = "credentials not found in native keychain";

Error bad_config(std::string message) {
  return {Code::kInvalidArgument, "bad_docker_config", std::move(message), 0};
}

// "https://host/v1/" -> "host".
std::string host_in(std::string key) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (key.starts_with(scheme)) key.erase(0, scheme.size());
  }
  return key.substr(0, key.find('/'));
}

Result<sdk::RegistryLogin> login_in(const json::object& entry) {
  sdk::RegistryLogin out{.username = text_of(entry, "username"),
                         .password = text_of(entry, "password"),
                         .identity_token = text_of(entry, "identitytoken")};
  const std::string auth = text_of(entry, "auth");
  if (auth.empty()) return out;
  const auto pair = codec::from_base64(auth);
  const auto colon = pair ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) return bad_config("auth must be USER:PASSWORD in base64");
  out.username = pair->substr(0, colon);
  out.password = pair->substr(colon + 1);
  while (out.password.ends_with('\0')) out.password.pop_back();  // as some tools pad it
  return out;
}

Result<sdk::RegistryLogin> login_printed(const std::string& name, const std::string& printed) {
  if (printed.starts_with(kNoneKept)) return sdk::RegistryLogin{};
  const auto got = codec::parse_object(printed);
  if (!got) return bad_config("docker-credential-" + name + " printed no login");
  const std::string user = text_of(*got, "Username"), secret = text_of(*got, "Secret");
  if (user == kTokenUser) return sdk::RegistryLogin{.identity_token = secret};
  return sdk::RegistryLogin{.username = user, .password = secret};
}

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> new_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return bad_config(std::strerror(errno));
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<pid_t> spawn(const std::string& program, const Pipe& in, const Pipe& out) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, in.read.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, out.write.get(), STDOUT_FILENO);
  posix_spawnattr_t settings;
  ::posix_spawnattr_init(&settings);
  sigset_t none, standard;
  sigemptyset(&none);
  sigemptyset(&standard);
  sigaddset(&standard, SIGPIPE);
  ::posix_spawnattr_setsigmask(&settings, &none);
  ::posix_spawnattr_setsigdefault(&settings, &standard);
  ::posix_spawnattr_setflags(&settings, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = program, verb = "get";
  std::array<char*, 3> argv{name.data(), verb.data(), nullptr};
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, program.c_str(), &files, &settings, argv.data(), environ);
  ::posix_spawnattr_destroy(&settings);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return bad_config(program + ": " + std::strerror(failed));
  return child;
}

std::string read_to_end(int fd) {
  constexpr std::size_t kMost = 1u << 20;
  std::string out;
  std::array<char, 4096> piece{};
  ssize_t got = 0;
  while (out.size() < kMost && (got = ::read(fd, piece.data(), piece.size())) != 0) {
    if (got > 0) out.append(piece.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  return out;
}

Result<std::string> run_helper(const std::string& name, const std::string& server) {
  if (name.find('/') != std::string::npos)
    return bad_config("'" + name + "' is no name of a credential helper");
  const std::string program = "docker-credential-" + name;
  CAY_TRY(Pipe in, new_pipe());
  CAY_TRY(Pipe out, new_pipe());
  CAY_TRY(const pid_t child, spawn(program, in, out));
  in.read.reset();
  out.write.reset();
  (void)write_all(in.write.get(), server);
  in.write.reset();
  std::string printed = read_to_end(out.read.get());
  out.read.reset();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const bool fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!fine && !printed.starts_with(kNoneKept)) return bad_config(program + " failed");
  return printed;
}

std::string config_file() {
  const char* directory = std::getenv("DOCKER_CONFIG");
  if (directory != nullptr && *directory != 0) return std::string(directory) + "/config.json";
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.docker/config.json";
}

}  // namespace

Result<DockerConfig> DockerConfig::parse(std::string_view text) {
  CAY_TRY(const json::object config, codec::parse_object(text));
  DockerConfig out;
  const auto object_in = [&config](const char* name) -> json::object {
    const auto* value = config.if_contains(name);
    return value != nullptr && value->is_object() ? value->get_object() : json::object();
  };
  for (const auto& [key, entry] : object_in("auths")) {
    if (!entry.is_object()) continue;
    auto login = login_in(entry.get_object());
    if (!login) return bad_config(std::string(key) + ": " + login.error().message);
    out.logins_.emplace(std::string(key), *std::move(login));
  }
  for (const auto& [host, name] : object_in("credHelpers")) {
    if (name.is_string()) out.helpers_.emplace(std::string(host), std::string(name.get_string()));
  }
  out.helper_ = text_of(config, "credsStore");
  return out;
}

Result<sdk::RegistryLogin> DockerConfig::login_for(const std::string& host,
                                                   const CredentialHelper& helper) const {
  const std::string server = host == kDockerHub ? kDockerHubKey : host;
  const auto own = helpers_.find(server);
  const auto by_host = own == helpers_.end() ? helpers_.find(host) : own;
  const std::string& name = by_host == helpers_.end() ? helper_ : by_host->second;
  if (!name.empty()) {
    CAY_TRY(const std::string printed, helper(name, server));
    return login_printed(name, printed);
  }
  const auto exact = logins_.find(server);
  if (exact != logins_.end()) return exact->second;
  for (const auto& [key, login] : logins_) {
    if (host_in(key) == host) return login;
  }
  return sdk::RegistryLogin{};
}

std::string registry_of(std::string_view image) {
  const auto reference = image_reference_from(image);
  return reference ? reference->registry : std::string(kDockerHub);
}

sdk::RegistryLogin login_of_user(const std::string& image) {
  const std::string path = config_file();
  std::ifstream file(path);
  if (!file) return {};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto config = DockerConfig::parse(text);
  const std::string host = registry_of(image);
  auto login = config ? config->login_for(host, run_helper)
                      : Result<sdk::RegistryLogin>(Error(config.error()));
  if (login) return *std::move(login);
  print_error(path + ": " + login.error().message + ": no login is sent to " + host);
  return {};
}

}  // namespace cay::cli
