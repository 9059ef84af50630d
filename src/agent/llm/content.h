// Parts of requests that several vendors share.
#pragma once
#include <string>
#include <string_view>

#include "agent/llm/message.h"

namespace cay::agent {

std::string data_url(const Media& media);  // "data:image/png;base64,…"
bool is_image(const Media& media);
bool is_pdf(const Media& media);
// The text in place of bytes that the model cannot see.
std::string unseen(const Media& media);

// A call's arguments as an object. Text that is none becomes {"malformed": text}, since servers
// reject a conversation with arguments that they cannot parse.
codec::json::object arguments_object(const std::string& arguments);
// The same as text: `arguments` itself if it is an object.
std::string arguments_text(const std::string& arguments);

// Whether OpenAI's "strict" mode accepts the schema: each object lists all its members as required,
// and no others are allowed.
bool is_strict(const codec::json::value& schema);

// Whether all that the message shows is text.
inline bool is_text_only(const Message& message) {
  for (const Block& block : message.blocks) {
    if (std::holds_alternative<Media>(block)) return false;
  }
  return true;
}

}  // namespace cay::agent
