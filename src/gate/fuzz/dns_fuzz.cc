// DNS questions of a sandbox: what is understood is answered within the room there is, as an answer
// to just that question.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "gate/dns_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::gate;
  static const auto v4 = *cay::IpAddress::parse("192.0.2.1");
  static const auto v6 = *cay::IpAddress::parse("2001:db8::1");
  const auto question = parse_question({reinterpret_cast<const char*>(data), size});
  if (!question) return 0;
  CAY_ASSERT(question->name.size() <= 4 * 255 && question->room >= 512 && question->room <= 1232);
  CAY_ASSERT(!question->plain || question->name.find('\\') == std::string::npos);
  for (const char c : question->name) CAY_ASSERT(c > ' ' && c < 0x7f && !(c >= 'A' && c <= 'Z'));
  DnsAnswer answer;
  answer.addresses = {v4, v6};
  answer.blocked = "policy";
  for (const std::size_t room : {std::size_t{512}, question->room, std::size_t{65'535}}) {
    const std::string out = encode_answer(*question, answer, room);
    CAY_ASSERT(out.size() <= room);
    CAY_ASSERT(out.size() >= 12 + question->wire.size() &&
               out.compare(12, question->wire.size(), question->wire) == 0);
    CAY_ASSERT((static_cast<unsigned char>(out[0]) << 8 | static_cast<unsigned char>(out[1])) ==
               question->id);
    CAY_ASSERT(!parse_question(out));  // an answer is never a question
  }
  return 0;
}
