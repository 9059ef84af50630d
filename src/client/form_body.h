// FormBody: a multipart/form-data body (RFC 7578) of one field and one file that is streamed.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "async/task.h"

namespace cay::client {

struct FormField {
  std::string name, content_type, value;
};
struct FormFile {
  std::string name, content_type;
  std::unique_ptr<ByteSource> bytes;
};

class FormBody : public ByteSource {
 public:
  FormBody(const FormField& field, FormFile file);

  // The Content-Type header of the request.
  std::string content_type() const;
  Task<Bytes> next() override;

 private:
  enum class At : std::uint8_t { kField, kFile, kEnd };
  std::string boundary_;
  std::string head_;  // all before the file's bytes
  std::unique_ptr<ByteSource> file_;
  At at_ = At::kField;
};

}  // namespace cay::client
