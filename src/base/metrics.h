// Metrics: numbers about the daemon for an operator's monitoring, in Prometheus' text format. One
// thread. Families and their series are bounded: a family takes kMostSeries, what is more counts as
// "other".
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cay {

class Metrics {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  static constexpr std::size_t kMostSeries = 200;

  // Counts up. `name` ends with _total. The first caller's `help` is kept.
  void count(std::string_view name, const char* help, const Labels& labels = {},
             std::uint64_t by = 1);
  // Into a histogram of seconds.
  void observe(std::string_view name, const char* help, const Labels& labels, double seconds);

  // Registers `ask`, which is called whenever the numbers are read and sets the present values. It
  // may call gauge() and counter(), which nothing else may.
  void on_read(std::function<void(Metrics&)> ask) { asks_.push_back(std::move(ask)); }
  void gauge(std::string_view name, const char* help, const Labels& labels, double value);
  void counter(std::string_view name, const char* help, const Labels& labels, double value);

  // Text format 0.0.4.
  std::string text();

 private:
  enum class Kind { kCounter, kGauge, kHistogram };
  struct Histogram {
    std::vector<std::uint64_t> buckets;
    std::uint64_t observations = 0;
    double sum = 0;
  };
  struct Family {
    Kind kind = Kind::kCounter;
    std::string help;
    std::map<std::string, double> values;  // labels as they are written -> value
    std::map<std::string, Histogram> histograms;
  };
  Family& family(std::string_view name, const char* help, Kind kind);
  template <class Map>
  static typename Map::mapped_type& series(Map& map, const Labels& labels);

  std::map<std::string, Family, std::less<>> families_;
  std::vector<std::function<void(Metrics&)>> asks_;
};

}  // namespace cay
