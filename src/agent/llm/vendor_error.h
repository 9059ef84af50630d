// VendorError: the error of a model's server as the server writes it, and its meaning.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace cay::agent {

struct VendorError {
  int status = 0;  // of HTTP; 0: it came inside an answer
  std::string type{}, code{}, message{}, param{};

  bool names(std::string_view member) const;  // whether it is about this member of the request
};

// Reads the body of an answer that is no 2xx. Any body gives an error.
VendorError vendor_error_of_body(int status, std::string_view body);
// Reads the value of an "error" member, which may be a text.
VendorError vendor_error_of(const codec::json::value& error);

// The error as Model::complete fails with it.
Error to_error(const VendorError& error);

// Whether `error` may be absent when the same request is sent again.
bool is_passing(const Error& error);

// kUnavailable (model_bad_answer): `why` continues "the server's answer cannot be used: ".
Error bad_answer(std::string_view why);

}  // namespace cay::agent
