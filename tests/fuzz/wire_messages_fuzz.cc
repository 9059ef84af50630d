// Every message's decoder: no crash, and what was decoded survives a round trip.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "wire/frame.h"
#include "wire/messages.h"
#include "wire/vault.h"

namespace {

template <class T>
void round_trip(std::string_view in) {
  const auto message = cay::wire::decode<T>(in);
  if (!message) return;
  const auto bytes = cay::wire::encode(*message);
  const auto again = cay::wire::decode<T>(bytes);
  if (!again || cay::wire::encode(*again) != bytes) std::abort();
}

template <class... T>
void pick(std::uint8_t which, std::string_view in) {
  std::uint8_t at = 0;
  ((at++ == which % sizeof...(T) ? round_trip<T>(in) : void()), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::wire;
  if (size == 0) return 0;
  const std::string_view in(reinterpret_cast<const char*>(data) + 1, size - 1);
  pick<Empty, Hello, ErrorMsg, Credit, Eof, CommandRef, StartCommand, CommandMsg, NoteMsg, Noted,
       Attach, GapMsg, Stdin, Kill, Resize, FileOp, FileInfoMsg, GrepMatchMsg, StatsMsg,
       CreateSandbox, SandboxRef, Created, SandboxEntry, ProgressMsg, SnapshotMsg, FeatureMsg,
       OpenTunnel, TunnelOpen, ExtentMsg, PrepareDefault, Lent, DecisionMsg, DecisionsMsg, VaultAsk,
       VaultAnswer, VaultGrant, BrokerHello, BrokerRoutes, BrokerWord, Proof, LayerEntryMsg,
       DiskMountMsg, SealLayer, LayerMsg, VolumeMsg, FileDoneMsg, ReplacedMsg, FileEventMsg>(
      data[0], in);
  if (const auto value = decode_data(in); value && encode_data(*value).size() != in.size())
    std::abort();
  return 0;
}
