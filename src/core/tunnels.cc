#include "core/tunnels.h"

#include "async/direct_write.h"
#include "async/piped.h"
#include "core/capable.h"
#include "core/errors.h"

namespace cay::core {
namespace {

// Members are destroyed in reverse: the connection before the hold.
class HeldTunnel : public Tunnel, public PipedStream, public DirectWrite {
 public:
  HeldTunnel(std::unique_ptr<Tunnel> inner, Held held)
      : held_(std::move(held)),
        inner_(std::move(inner)),
        piped_(dynamic_cast<PipedStream*>(inner_.get())),
        direct_(dynamic_cast<DirectWrite*>(inner_.get())) {}
  Task<Bytes> read() override {
    auto bytes = co_await inner_->read();
    if (bytes) held_.entry->bytes_out += bytes->size();
    co_return bytes;
  }
  Task<void> write(Bytes bytes) override {
    const std::size_t size = bytes.size();
    auto written = co_await inner_->write(std::move(bytes));
    if (written) held_.entry->bytes_in += size;
    co_return written;
  }
  Task<void> shut_write() override { return inner_->shut_write(); }
  void break_off(Error why) override { inner_->break_off(std::move(why)); }

  bool can_splice() const override { return piped_ != nullptr && piped_->can_splice(); }
  Task<KernelPipe> read_piped(std::size_t most) override {
    auto pipe = co_await piped_->read_piped(most);
    if (pipe) held_.entry->bytes_out += pipe->size();
    co_return pipe;
  }
  Task<void> write_piped(KernelPipe pipe) override {
    const std::size_t size = pipe.size();
    auto written = co_await piped_->write_piped(std::move(pipe));
    if (written) held_.entry->bytes_in += size;
    co_return written;
  }
  std::size_t write_now(std::string_view bytes) override {
    const std::size_t sent = direct_ != nullptr ? direct_->write_now(bytes) : 0;
    held_.entry->bytes_in += sent;
    return sent;
  }
  // A paused sandbox's tunnel is never quiet: a second request over it must fail, and not wait.
  bool is_quiet() override { return piped_ != nullptr && !held_.paused() && piped_->is_quiet(); }
  bool has_gone() override { return piped_ != nullptr && piped_->has_gone(); }

 private:
  Held held_;
  std::unique_ptr<Tunnel> inner_;
  PipedStream* piped_;  // the same; null: it is none
  DirectWrite* direct_;
};

}  // namespace

Task<std::unique_ptr<Tunnel>> TunnelVerbs::open(Principal who, std::string ref,
                                                std::uint16_t port) {
  if (port == 0) co_return invalid("invalid_port", "a port is 1 to 65535");
  CAY_CO_TRY(auto entry, wake_.registry().find_served(who, ref));
  CAY_CO_CHECK(check_tunnels(*entry));
  CAY_CO_TRY(Held held, co_await wake_.live(std::move(entry), std::move(who)));
  if (held.paused())
    co_return sandbox_paused(
        held.entry->row.name);  // the kernel would connect, and nobody would answer
  auto live = held.live;
  CAY_CO_TRY(auto inner, co_await live->open_tunnel(port));
  co_return std::unique_ptr<Tunnel>(
      std::make_unique<HeldTunnel>(std::move(inner), std::move(held)));
}

Task<std::shared_ptr<void>> TunnelVerbs::hold(Principal who, std::string ref) {
  CAY_CO_TRY(auto entry, wake_.registry().find_served(who, ref));
  CAY_CO_CHECK(check_tunnels(*entry));
  CAY_CO_TRY(Held held, co_await wake_.live(std::move(entry), std::move(who)));
  if (held.paused()) co_return sandbox_paused(held.entry->row.name);
  held.live.reset();  // it only has to stay awake: a stop lets its keeper go
  co_return std::shared_ptr<void>(std::make_shared<Held>(std::move(held)));
}

}  // namespace cay::core
