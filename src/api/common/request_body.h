// The body of a request as its handler reads it, decompressed where the client compressed it.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "api/common/answer.h"
#include "async/bytes.h"

namespace cay::api {

// As Exchange::read_body. A body with Content-Encoding: gzip is decompressed, and `limit` then
// counts the decompressed bytes. Memory stays near `limit` however well the body is compressed.
// Fails: kInvalidArgument (body_too_large, bad_encoding for any other coding and for what is no
// gzip), and as Exchange::body.
Task<std::string> read_request_body(ExchangePtr exchange, std::size_t limit);

// Decompresses gzip (RFC 1952), one member after the other, in pieces of at most 64 KiB.
// Everything that held decompressed bytes is overwritten at the end. Fails: bad_encoding, also if
// the last member is cut off.
std::unique_ptr<ByteSource> gunzipped(std::unique_ptr<ByteSource> compressed);

}  // namespace cay::api
