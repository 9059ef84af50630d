// bench_client METHOD [SETTINGS]: runs one method of the bench against the daemon that CAY_URL and
// CAY_API_KEY name. SETTINGS is a JSON object. It prints what it measured as one JSON object.
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <iostream>
#include <map>
#include <string>

#include "cay/error.h"
#include "codec/json.h"
#include "methods.h"

namespace {

using cay::bench::Session;

const std::map<std::string, cay::bench::Awaitable<boost::json::object> (*)(Session&)> kMethods{
    {"create", cay::bench::create},
    {"exec", cay::bench::exec},
    {"evaluate", cay::bench::evaluate},
    {"churn", cay::bench::churn},
    {"wake", cay::bench::wake},
    {"upload", cay::bench::upload},
    {"download", cay::bench::download},
    {"stream", cay::bench::stream},
    {"stream_langsmith", cay::bench::stream_langsmith},
    {"hold", cay::bench::hold},
};

int complain(const std::string& why) {
  std::cerr << "bench_client: " << why << "\n";
  return 1;
}

int measure(cay::bench::Awaitable<boost::json::object> (*method)(Session&), Session& session) {
  std::exception_ptr failed;
  boost::json::object measured;
  boost::asio::co_spawn(session.loop, method(session),
                        [&](std::exception_ptr thrown, boost::json::object value) {
                          failed = std::move(thrown);
                          measured = std::move(value);
                        });
  session.loop.run();
  try {
    if (failed) std::rethrow_exception(failed);
  } catch (const cay::bench::Failed& error) {
    return complain(error.why);
  } catch (const std::exception& error) {
    return complain(error.what());
  }
  std::cout << cay::codec::write(measured) << "\n";
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const auto method = count < 2 ? kMethods.end() : kMethods.find(words[1]);
  if (method == kMethods.end()) {
    std::string names;
    for (const auto& [name, function] : kMethods) names += " " + name;
    return complain("the first argument is a method:" + names);
  }
  auto settings = cay::codec::parse_object(count > 2 ? words[2] : "{}");
  if (!settings) return complain(settings.error().message);
  Session session(*std::move(settings));
  return measure(method->second, session);
}
