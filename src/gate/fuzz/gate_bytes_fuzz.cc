// What a sandbox sends the gate before anything is decided: DNS questions, ClientHellos, request heads.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "gate/dns_message.h"
#include "gate/first_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::gate;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto question = parse_question(bytes)) {
    DnsAnswer answer;
    answer.addresses = {*cay::IpAddress::parse("192.0.2.1"), *cay::IpAddress::parse("2001:db8::1")};
    answer.blocked = "policy";
    for (const std::size_t room : {std::size_t{512}, question->room, std::size_t{65'535}}) {
      if (encode_answer(*question, answer, room).size() > room) std::abort();
    }
    if (question->name.size() > 4 * 255) std::abort();
  }
  for (const Proof proof : {Proof::kTls, Proof::kHttp}) {
    const Shown shown = read_first_bytes(proof, bytes);
    if (shown.state == Shown::State::kName && (shown.host.empty() || shown.host.size() > 253)) std::abort();
    // What is known from a part is not changed by more of it.
    if (shown.state != Shown::State::kMore) continue;
    if (size >= kMostFirstBytes) std::abort();
  }
  return 0;
}
