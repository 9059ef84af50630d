#include "gate/proxy_answer.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace cay::gate {

namespace bhttp = boost::beast::http;

struct ProxyAnswer::Parser {
  Parser() {
    head.header_limit(kMostHead);
    head.skip(true);
  }
  bhttp::response_parser<bhttp::empty_body> head;
};

ProxyAnswer::ProxyAnswer() : parser_(std::make_unique<Parser>()) {}
ProxyAnswer::~ProxyAnswer() = default;

ProxyAnswer::State ProxyAnswer::read(std::string& in) {
  while (!in.empty()) {
    boost::beast::error_code wrong;
    const std::size_t took = parser_->head.put(boost::asio::buffer(in), wrong);
    in.erase(0, took);
    taken_ += took;
    if (wrong && wrong != bhttp::error::need_more) return State::kNotHttp;
    // Bytes that are too few for the parser stay in `in`.
    if (taken_ + (parser_->head.is_header_done() ? 0 : in.size()) > kMostHead)
      return State::kNotHttp;
    if (!parser_->head.is_header_done()) return State::kMore;
    status_ = parser_->head.get().result_int();
    const bool interim = status_ >= 100 && status_ < 200 && status_ != 101;
    if (!interim) return status_ / 100 == 2 ? State::kYes : State::kNo;
    parser_ = std::make_unique<Parser>();
  }
  return State::kMore;
}

}  // namespace cay::gate
