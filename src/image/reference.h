// Reference: the name of an image, as people write it, in its normal form.
//
// "python:3.12" is the tag 3.12 of docker.io/library/python, as other tools read it. Source:
// github.com/distribution/reference, the grammar of references.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace cay::image {

struct Reference {
  std::string registry;    // "docker.io", "localhost:5000"
  std::string repository;  // "library/python"
  std::string tag{};       // "latest" where neither tag nor digest was given
  std::string digest{};    // "sha256:..."; it decides where both were given

  std::string name() const { return registry + "/" + repository; }
  // Returns the host, with a port if one was given, that serves this registry.
  std::string host() const;
  // Returns the last part of the path of its manifest.
  const std::string& version() const { return digest.empty() ? tag : digest; }
};

// Fails kInvalidArgument bad_reference.
Result<Reference> parse_reference(std::string_view text);

}  // namespace cay::image
