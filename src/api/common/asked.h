// What a request asks for, as its line in the record of requests says it where the path does not: names and numbers. Never what may be a secret: no value
// of an environment or a label, and of a proxy rule neither token nor headers.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/link.h"
#include "model/sandbox.h"

namespace cay::api {

// Each member that a PATCH has, with the new policy's words, and of proxy rules their names and those of their secrets:
// "policy: pypi.org, !evil.test; proxy 1: model with secret model-key; labels 1: team".
std::string changes_asked(const SandboxPatch& patch);
// The same of the policy and the proxy rules that a sandbox is made with. Empty: it asks for none.
std::string settings_asked(const SandboxSpec& spec);
// "sandbox NAME; SETTINGS". `name`: empty before one is chosen.
std::string creation_asked(std::string_view name, const std::string& settings);
// "port 8080 for 3600 s", "until withdrawn: /etc/hostname".
std::string link_asked(const LinkSpec& spec);
// Where a secret may be sent: "hosts 2: api.example.com, *.example.net".
std::string hosts_asked(const std::vector<std::string>& hosts);
// A path of a sandbox, as far as a line has room.
std::string path_asked(std::string_view path);

}  // namespace cay::api
