// The inputs of `cay snapshot build`: the Dockerfile, the files of its context, secrets and logins.
#pragma once
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cay/client.h"

namespace cay::cli {

// --secret id=ID[,src=FILE|,env=VAR]
struct SecretSource {
  std::string id;
  std::string file, env;  // one of them; both empty: the variable ID, else the file ID
  bool operator==(const SecretSource&) const = default;
};
Result<SecretSource> parse_secret_source(std::string_view text);
// Returns the value. Fails kNotFound, and the message has the place and not the value.
Result<std::string> read_secret(const SecretSource& source);

// A context: what the daemon gets, and how the user names the Dockerfile in messages.
struct BuildInputs {
  std::string dockerfile;                        // its text
  std::string ignore;                            // the text of the .dockerignore; empty: none
  std::string directory;                         // empty: the context is `archive`
  std::shared_ptr<std::FILE> archive = nullptr;  // a tar; null with an empty `directory`: no files
};
// Reads the inputs that the command line names. `context`: a directory, or "-" for stdin, which has
// a Dockerfile or a tar. `file` empty: "Dockerfile" of the context. Throws ApiError.
BuildInputs read_build_inputs(const std::string& file, const std::string& context);

// Whether bytes begin like an archive, plain or compressed, and not like a text.
bool begins_like_an_archive(std::string_view bytes);

// The images that the stages of `target` start from, copy from and mount, as the Dockerfile names
// them. Fails kInvalidArgument and kUnsupported if it is no Dockerfile.
Result<std::vector<std::string>> images_named_by(std::string_view dockerfile,
                                                 const sdk::BuildOptions& options);

// Returns the user's logins for the registries of these images. `login_of`: login_of_user.
std::map<std::string, sdk::RegistryLogin> logins_for(
    const std::vector<std::string>& images,
    const std::function<sdk::RegistryLogin(const std::string& image)>& login_of);

}  // namespace cay::cli
