// These functions write the subject of a request for its line in the audit log, where the path does
// not show it: names and numbers. They never write a possible secret: no value of an environment or
// a label, and neither token nor headers of a proxy rule.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/link.h"
#include "model/sandbox.h"

namespace cay::api {

// Returns each member that a PATCH has. A policy comes with its words, and a proxy rule with its
// name and its secret's name. An example: "policy: pypi.org, !evil.test; proxy 1: model with secret
// model-key; labels 1: team".
std::string changes_subject(const SandboxPatch& patch);
// The same for the policy and the proxy rules of a creation. Empty: it has none.
std::string settings_subject(const SandboxSpec& spec);
// "sandbox NAME; SETTINGS". `name`: empty before one is chosen.
std::string creation_subject(std::string_view name, const std::string& settings);
// "port 8080 for 3600 s", "until withdrawn: /etc/hostname".
std::string link_subject(const LinkSpec& spec);
// Returns the hosts that a secret may go to: "hosts 2: api.example.com, *.example.net".
std::string hosts_subject(const std::vector<std::string>& hosts);
// A path of a sandbox, as far as a line has room.
std::string path_subject(std::string_view path);

}  // namespace cay::api
