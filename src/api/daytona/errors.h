// Errors as Daytona's clients read them (protocol reference, section 12). `source` and `code`
// choose the class of the exception. For other codes the status chooses it.
#pragma once
#include <string>
#include <string_view>

#include "api/common/answer.h"

namespace cay::api::daytona {

// The vendor has two programs: the control plane, and the toolbox inside the sandbox.
enum class Plane { kApi, kToolbox };

// The plane of a path of the facade.
Plane plane_of(const http::RequestHead& head);

// The status and code of an error.
struct Refusal {
  int status = 500;
  std::string code;  // "NOT_FOUND", "FILE_NOT_FOUND"
};

// Returns the general code of a status: "BAD_REQUEST", "NOT_FOUND", "INTERNAL_SERVER_ERROR".
std::string_view code_of_status(int status);

Refusal api_refusal(const Error& error);

// {path, timestamp, statusCode, error, message, code, source}, and of the toolbox also `method`.
http::Response refused(const http::RequestHead& head, Plane plane, const Refusal& refusal,
                       const std::string& message);
// The same of an error.
http::Response refused(const http::RequestHead& head, Plane plane, const Error& error);

}  // namespace cay::api::daytona
