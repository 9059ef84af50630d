#include "base/metrics.h"

#include <array>
#include <charconv>
#include <cmath>

namespace cay {
namespace {

// Seconds: a sandbox is made in about a millisecond, a cold one in seconds.
constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                0.25,  0.5,    1.0,   2.5,  5.0,   10.0, 30.0};

std::string number(double value) {
  std::array<char, 32> text{};
  if (value == std::floor(value) && std::fabs(value) < 1e15) {
    const auto [end, failed] =
        std::to_chars(text.data(), text.data() + text.size(), static_cast<std::int64_t>(value));
    return std::string(text.data(), end);
  }
  const auto [end, failed] = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end);
}

// A label's value as the format wants it.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out.push_back('\\');
    if (c == '\n') {
      out += "\\n";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string written(const Metrics::Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels)
    out += (out.empty() ? "" : ",") + name + "=\"" + escaped(value) + "\"";
  return out;
}

std::string braced(const std::string& labels, const std::string& more = {}) {
  if (labels.empty() && more.empty()) return {};
  return "{" + labels + (labels.empty() || more.empty() ? "" : ",") + more + "}";
}

}  // namespace

Metrics::Family& Metrics::family(std::string_view name, const char* help, Kind kind) {
  auto found = families_.find(name);
  if (found == families_.end()) found = families_.try_emplace(std::string(name)).first;
  Family& out = found->second;
  if (out.help.empty()) {
    out.help = help;
    out.kind = kind;
  }
  return out;
}

template <class Map>
typename Map::mapped_type& Metrics::series(Map& map, const Labels& labels) {
  const std::string key = written(labels);
  const auto found = map.find(key);
  if (found != map.end()) return found->second;
  if (map.size() < kMostSeries) return map[key];
  Labels other = labels;
  for (auto& label : other) label.second = "other";
  return map[written(other)];
}

void Metrics::count(std::string_view name, const char* help, const Labels& labels,
                    std::uint64_t by) {
  series(family(name, help, Kind::kCounter).values, labels) += static_cast<double>(by);
}

void Metrics::observe(std::string_view name, const char* help, const Labels& labels,
                      double seconds) {
  Histogram& into = series(family(name, help, Kind::kHistogram).histograms, labels);
  into.buckets.resize(kBounds.size());
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (seconds <= kBounds.at(i)) ++into.buckets[i];
  }
  ++into.observations;
  into.sum += seconds;
}

void Metrics::gauge(std::string_view name, const char* help, const Labels& labels, double value) {
  series(family(name, help, Kind::kGauge).values, labels) = value;
}

void Metrics::counter(std::string_view name, const char* help, const Labels& labels, double value) {
  series(family(name, help, Kind::kCounter).values, labels) = value;
}

std::string Metrics::text() {
  for (auto& [name, family] : families_) {
    if (family.kind == Kind::kGauge) family.values.clear();  // a gauge without a value is not shown
  }
  for (const auto& ask : asks_) ask(*this);
  std::string out;
  for (const auto& [name, family] : families_) {
    const char* kind = family.kind == Kind::kCounter ? "counter"
                       : family.kind == Kind::kGauge ? "gauge"
                                                     : "histogram";
    out += "# HELP " + name + " " + family.help + "\n# TYPE " + name + " " + kind + "\n";
    for (const auto& [labels, value] : family.values)
      out += name + braced(labels) + " " + number(value) + "\n";
    for (const auto& [labels, histogram] : family.histograms) {
      for (std::size_t i = 0; i < kBounds.size(); ++i) {
        out += name + "_bucket" + braced(labels, "le=\"" + number(kBounds.at(i)) + "\"") + " " +
               std::to_string(histogram.buckets[i]) + "\n";
      }
      out += name + "_bucket" + braced(labels, "le=\"+Inf\"") + " " +
             std::to_string(histogram.observations) + "\n";
      out += name + "_sum" + braced(labels) + " " + number(histogram.sum) + "\n";
      out += name + "_count" + braced(labels) + " " + std::to_string(histogram.observations) + "\n";
    }
  }
  return out;
}

}  // namespace cay
