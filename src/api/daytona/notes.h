// The notes that this facade keeps with a sandbox (SandboxNotes): what its clients set and core has
// no setting for.
#pragma once
#include <string>
#include <string_view>

#include "model/sandbox.h"

namespace cay::api::daytona {

// The moment of the stop that the archive concerns. A later stop is no archive.
inline constexpr const char* kArchivedNote = "daytona.archived";
inline constexpr const char* kAutoArchiveNote = "daytona.auto_archive";  // minutes
inline constexpr const char* kPublicNote = "daytona.public";             // present: it is
inline constexpr const char* kSigningKeyNote = "daytona.signing_key";
inline constexpr const char* kNetworksNote = "daytona.networks";  // the list of networks as given
inline constexpr const char* kDomainsNote = "daytona.domains";    // the list of domains as given
inline constexpr const char* kParentNote = "daytona.parent";      // the id of a fork's source
inline constexpr const char* kLinkedNote = "daytona.linked";      // an id
inline constexpr const char* kDockerfileNote = "daytona.dockerfile";

// Empty: there is none.
inline std::string note_of(const Sandbox& sandbox, std::string_view key) {
  const auto found = sandbox.notes.find(std::string(key));
  return found == sandbox.notes.end() ? std::string() : found->second;
}

}  // namespace cay::api::daytona
