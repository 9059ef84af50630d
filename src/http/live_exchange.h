// LiveExchange: one request on one connection, and its answer.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "async/kernel_pipe.h"
#include "http/socket.h"
#include "http/listener.h"
#include "http/read_buffer.h"
#include "http/request_head.h"

namespace cay::http {

class LiveExchange final : public Exchange, public std::enable_shared_from_this<LiveExchange> {
 public:
  // Called each time a caller on the connection was let in.
  using OnLetIn = std::function<Result<void>(Caller)>;
  // Called when the connection has become a WebSocket: the listener keeps it for its end.
  using OnSocket = std::function<std::function<void()>(std::shared_ptr<SocketCore>)>;

  LiveExchange(Channel& channel, ReadBuffer& buffer, RequestParser& parser, RequestHead head,
               const ListenerConfig& config, const bool& ending, OnSocket on_socket,
               OnLetIn on_let_in);

  const RequestHead& head() const override { return head_; }
  const Principal& principal() const override { return principal_; }
  const std::map<std::string, std::string>& params() const override { return params_; }
  Result<void> let_in(Caller caller) override;
  asio::awaitable<bool> break_off(std::string why) override;
  std::string how_it_ended() const override { return ended_; }
  Task<std::string> read_body(std::size_t limit) override;
  std::unique_ptr<ByteSource> body() override;
  asio::awaitable<void> respond(Response response) override;
  asio::awaitable<void> respond_stream(int status, Headers headers,
                                       std::optional<std::uint64_t> length,
                                       std::unique_ptr<ByteSource> bytes) override;
  Task<std::unique_ptr<WebSocket>> upgrade(std::size_t max_message) override;
  Task<std::unique_ptr<ByteStream>> upgrade_raw(Headers headers) override;

  Task<Bytes> next_piece();  // of the body; empty: the end
  bool is_body_over() const { return left_ ? *left_ == 0 : parser_.is_done(); }
  // Whether the next piece of it can stay in the kernel: of a known length, not under TLS, and
  // nothing of it was read yet.
  bool can_splice_body();
  Task<KernelPipe> next_piped_piece();
  // The connection is needed for another's: it ends now, whatever was begun; a WebSocket with 1013
  // and `why`.
  static asio::awaitable<void> give_way(std::shared_ptr<LiveExchange> self, std::string why);
  bool answered() const { return answered_; }
  bool upgraded() const { return upgraded_; }
  bool keep_alive() const { return keep_alive_; }
  // Reads what is left of the body. False: too much, or broken.
  asio::awaitable<bool> drain();
  void close_after() { keep_alive_ = false; }
  // The connection is gone: bodies and answers end.
  void detach() { channel_ = nullptr; }

 private:
  template <class Message>
  void fill(Message& message, const Headers& headers);
  Task<void> send_continue();
  Task<ErrorCode> read_piece();
  bool knows_left();
  // Some of the body, into memory of the caller's and nowhere else; 0: its end.
  Task<std::size_t> read_into(std::span<char> into);
  Task<std::size_t> read_known_into(std::span<char> into);
  Task<ErrorCode> read_known(std::span<char> into, std::size_t& got);
  Task<KernelPipe> take_slowly(ErrorCode& error);
  Error body_late();
  void reset_connection();
  void note_raw_end(bool whole);
  asio::awaitable<ErrorCode> write_piped(KernelPipe pipe);
  Task<ErrorCode> write_slowly(KernelPipe& pipe);

  Transport& transport() { return channel_->next_layer(); }

  Channel* channel_;  // null: detached
  ReadBuffer& buffer_;
  RequestParser& parser_;
  RequestHead head_;
  const ListenerConfig& config_;
  const bool& ending_;  // the listener's: no more requests on this connection
  OnSocket on_socket_;
  OnLetIn on_let_in_;
  Principal principal_;
  std::map<std::string, std::string> params_;
  bool expects_continue_ = false;
  bool answered_ = false;
  bool upgraded_ = false;
  bool broken_off_ = false;
  std::string broken_why_;
  std::string ended_;                 // what it became: how
  std::weak_ptr<SocketCore> socket_;  // what it became, or
  std::weak_ptr<Channel> raw_;
  bool keep_alive_;
  std::optional<std::uint64_t>
      left_;  // of a body of known length, once it is read: the parser then sees no more of it
};

}  // namespace cay::http
