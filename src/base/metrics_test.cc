#include "base/metrics.h"

#include <gtest/gtest.h>

namespace cay {
namespace {

TEST(MetricsTest, WritesTheTextFormat) {
  Metrics metrics;
  metrics.count("cay_a_total", "How many.", {{"state", "x\"\\\n"}});
  metrics.count("cay_a_total", "How many.", {{"state", "x\"\\\n"}}, 2);
  metrics.on_read([](Metrics& now) { now.gauge("cay_b", "What is.", {}, 1.5); });
  EXPECT_EQ(metrics.text(),
            "# HELP cay_a_total How many.\n# TYPE cay_a_total "
            "counter\ncay_a_total{state=\"x\\\"\\\\\\n\"} 3\n"
            "# HELP cay_b What is.\n# TYPE cay_b gauge\ncay_b 1.5\n");
}

TEST(MetricsTest, HistogramsAddUp) {
  Metrics metrics;
  metrics.observe("cay_seconds", "Time.", {{"k", "v"}}, 0.003);
  metrics.observe("cay_seconds", "Time.", {{"k", "v"}}, 100);
  const std::string text = metrics.text();
  EXPECT_NE(text.find("cay_seconds_bucket{k=\"v\",le=\"0.0025\"} 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cay_seconds_bucket{k=\"v\",le=\"0.005\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("cay_seconds_bucket{k=\"v\",le=\"+Inf\"} 2\n"), std::string::npos);
  EXPECT_NE(text.find("cay_seconds_count{k=\"v\"} 2\n"), std::string::npos);
}

TEST(MetricsTest, SeriesAreBounded) {
  Metrics metrics;
  for (int i = 0; i < 10'000; ++i)
    metrics.count("cay_a_total", "How many.", {{"id", std::to_string(i)}});
  const std::string text = metrics.text();
  EXPECT_NE(text.find("cay_a_total{id=\"other\"} 9800\n"), std::string::npos);
  EXPECT_LT(text.size(), 10'000u);
}

TEST(MetricsTest, AGaugeThatIsNotToldAnyMoreIsGone) {
  Metrics metrics;
  bool there = true;
  metrics.on_read([&](Metrics& now) {
    if (there) now.gauge("cay_b", "What is.", {{"state", "ready"}}, 1);
  });
  EXPECT_NE(metrics.text().find("ready"), std::string::npos);
  there = false;
  EXPECT_EQ(metrics.text().find("ready"), std::string::npos);
}

}  // namespace
}  // namespace cay
