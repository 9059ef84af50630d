#include "code/evaluation_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "code/context_driver.h"

namespace cay::code {
namespace {

using Kind = ContextEvent::Kind;

std::string line(const std::string& run, const std::string& rest) {
  return R"({"run":")" + run + R"(","type":)" + rest + "}\n";
}
std::string begin(const std::string& run) { return line(run, R"("begin","tag":"t")"); }
std::string done(const std::string& run, const std::string& status = "ok") {
  return line(run, R"("done","status":")" + status + R"(")");
}
std::string out(const std::string& run, const std::string& text) {
  return line(run, R"("stdout","text":")" + text + R"(")");
}

TEST(EvaluationReaderTest, ReadsTheEventsOfOneEvaluationAlone) {
  EvaluationReader reader("a", {.from = 100});
  const std::string text = begin("z") + out("z", "other") + done("z") + begin("a") +
                           out("a", "one") + out("a", "two") +
                           line("a", R"("result","data":{"text/plain":"2","image/png":"aGk="})");
  reader.feed(text);
  EXPECT_FALSE(reader.is_over());
  EXPECT_EQ(reader.next(), 100 + text.size());
  reader.feed(done("a") + out("a", "after its end"));
  EXPECT_TRUE(reader.is_over());
  EXPECT_EQ(reader.state(), EvaluationState::kOk);
  EXPECT_EQ(reader.tag(), "t");
  EXPECT_EQ(reader.next(), 100 + text.size()) << "from there, its end is read again";
  const auto events = reader.take_events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].next, 100 + text.size());
  EXPECT_EQ(events[0].kind, Kind::kStdout);
  EXPECT_EQ(events[0].text, "onetwo");
  EXPECT_EQ(events[1].kind, Kind::kResult);
  EXPECT_EQ(events[1].data.at("text/plain"), "2");
  EXPECT_EQ(events[1].data.at("image/png"), "aGk=");
}

TEST(EvaluationReaderTest, GivesTheSameHoweverTheBytesAreCut) {
  const std::string text = begin("z") + begin("ab") + out("a", "not ours") + out("ab", "ours") +
                           line("ab", R"("error","name":"N","value":"V","traceback":"T")") +
                           done("ab", "error");
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    EvaluationReader reader("ab", {});
    for (std::size_t at = 0; at < text.size(); at += cut) reader.feed(text.substr(at, cut));
    EXPECT_EQ(reader.state(), EvaluationState::kError);
    const auto events = reader.take_events();
    ASSERT_EQ(events.size(), 2u) << cut;
    EXPECT_EQ(events[0].text, "ours");
    EXPECT_EQ(events[1].name, "N");
    EXPECT_EQ(events[1].text, "V");
    EXPECT_EQ(events[1].traceback, "T");
  }
}

TEST(EvaluationReaderTest, TakesNoForgedBeginningOrEnd) {
  EvaluationReader reader("a", {});
  // Spaces, another order of members and an escape are no line of ours, and nothing comes before
  // the beginning.
  reader.feed(R"({ "run":"a","type":"done","status":"ok"})"
              "\n");
  reader.feed(R"({"type":"done","run":"a","status":"ok"})"
              "\n");
  reader.feed(R"({"run":"\u0061","type":"done","status":"ok"})"
              "\n");
  reader.feed(done("a"));
  reader.feed(R"(x{"run":"a","type":"begin"})"
              "\n");
  EXPECT_FALSE(reader.is_over());
  EXPECT_FALSE(reader.has_begun());
  reader.feed(begin("a") + done("a", "interrupted") + done("a", "ok"));
  EXPECT_EQ(reader.state(), EvaluationState::kInterrupted);
  EXPECT_TRUE(reader.take_events().empty());
}

TEST(EvaluationReaderTest, ReportsEachLineThatIsNoEvent) {
  const std::string bad[] = {
      R"("stdout","text":5)",
      R"("stdout")",
      R"("stdout","text":"x","base64":5)",
      R"("stdout","text":"x","base64":"no base64")",
      R"("result","data":[])",
      R"("result","data":{"text/plain":1})",
      R"("result","data":{},"omitted":{"image/png":-1})",
      R"("error","name":"N")",
      R"("done","status":"running")",
      R"("done","status":"lost")",
      R"("gap","bytes":5)",
      R"("unheard")",
      R"("stdout","text":")" + std::string("\xff") + R"(")",
      R"("stdout","text":"x"}})",
  };
  for (const std::string& one : bad) {
    EvaluationReader reader("a", {});
    const std::string text = line("a", one);
    reader.feed(begin("a") + text);
    EXPECT_FALSE(reader.is_over()) << one;
    const auto events = reader.take_events();
    ASSERT_EQ(events.size(), 1u) << one;
    EXPECT_EQ(events[0].kind, Kind::kUnreadable) << one;
    EXPECT_EQ(events[0].bytes, text.size() - 1) << one;
  }
}

TEST(EvaluationReaderTest, KeepsTheExactBytesOfOutputThatIsNoText) {
  EvaluationReader reader("a", {});
  reader.feed(begin("a") + out("a", "one") +
              line("a", R"("stdout","text":"\ufffd","base64":"/w==")") + out("a", "two") +
              done("a"));
  const auto events = reader.take_events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].raw, "");
  EXPECT_EQ(events[1].text, "\xef\xbf\xbd");
  EXPECT_EQ(events[1].raw, "\xff");
  EXPECT_EQ(events[2].text, "two");
  EXPECT_EQ(events[2].raw, "");
}

TEST(EvaluationReaderTest, BoundsALine) {
  EvaluationReader reader("a", {});
  reader.feed(begin("a"));
  const std::string huge(EvaluationReader::kLongestLine, 'x');
  reader.feed(out("a", huge) + out("b", huge) + out("a", "small") + done("a"));
  EXPECT_EQ(reader.state(), EvaluationState::kOk);
  const auto events = reader.take_events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, Kind::kUnreadable);
  EXPECT_EQ(events[0].bytes, out("a", huge).size() - 1);
  EXPECT_EQ(events[1].text, "small");
}

TEST(EvaluationReaderTest, GoesOnInAnotherReaderWhereOneIsFull) {
  const std::string large(EvaluationReader::kLongestLine / 2, 'x');
  std::string text = begin("a");
  for (int i = 0; i < 10; ++i) {
    text += out("a", large) + line("a", R"("stderr","text":")" + std::to_string(i) + R"(")");
  }
  text += done("a");
  std::size_t at = 0;
  std::string numbers;
  std::size_t bytes = 0;
  int readers = 0;
  for (bool begun = false;; begun = true) {
    EvaluationReader reader("a", {.from = at, .begun = begun});
    reader.feed(text.substr(at));
    ++readers;
    for (const auto& one : reader.take_events())
      one.kind == Kind::kStderr ? numbers += one.text : (bytes += one.text.size(), numbers);
    at = reader.next();
    if (!reader.is_full()) {
      EXPECT_EQ(reader.state(), EvaluationState::kOk);
      break;
    }
  }
  EXPECT_GT(readers, 1);
  EXPECT_EQ(numbers, "0123456789");
  EXPECT_EQ(bytes, 10 * large.size());
  EXPECT_EQ(at, text.size() - done("a").size());
}

TEST(EvaluationReaderTest, TellsAGapAndWhatItMayHide) {
  EvaluationReader reader("a", {});
  reader.feed(begin("a") + out("a", "one") + R"({"run":"a","type":"st)");
  reader.gap(1000);
  reader.feed(R"(out","text":"cut"})"
              "\n" +
              out("a", "two") + done("a"));
  EXPECT_EQ(reader.state(), EvaluationState::kOk);
  const auto events = reader.take_events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].text, "one");
  EXPECT_EQ(events[1].kind, Kind::kGap);
  EXPECT_EQ(events[1].bytes, 1000u);
  EXPECT_EQ(events[2].text, "two");

  EvaluationReader without_end("a", {});
  without_end.feed(begin("a"));
  without_end.gap(5);
  without_end.feed("cut\n" + begin("b"));
  EXPECT_EQ(without_end.state(), EvaluationState::kLost);

  EvaluationReader without_beginning("a", {});
  without_beginning.gap(7);
  without_beginning.feed("cut\n" + out("b", "x") + out("a", "rest") + done("a"));
  EXPECT_EQ(without_beginning.state(), EvaluationState::kOk);
  const auto rest = without_beginning.take_events();
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].kind, Kind::kGap);
  EXPECT_EQ(rest[1].text, "rest");
}

std::string late(const std::string& run, const std::string& text) {
  return line(run, R"("late","stream":"stdout","text":")" + text + R"(")");
}

TEST(EvaluationReaderTest, GivesWhatJobsWriteToOneEvaluation) {
  const std::string text = begin("j") + done("j") + late("j", "1") + begin("a") + late("j", "2") +
                           out("a", "own") + late("j", "3") + done("a") + out("", "4") +
                           late("j", "5") + begin("b") + done("b") + late("j", "6");
  const auto background_of = [&](const std::string& run) {
    EvaluationReader reader(run, {});
    reader.feed(text);
    EXPECT_EQ(reader.state(), EvaluationState::kOk);
    std::string out;
    for (const ContextEvent& one : reader.take_events()) {
      if (one.kind != Kind::kBackground) continue;
      EXPECT_EQ(one.of, one.text == "4" ? "" : "j");
      EXPECT_EQ(one.name, "stdout");
      out += one.text;
    }
    return out;
  };
  EXPECT_EQ(background_of("j"), "");
  EXPECT_EQ(background_of("a"), "123");
  EXPECT_EQ(background_of("b"), "45");

  EvaluationReader waits("b", {});
  waits.feed(text.substr(0, text.find(begin("b"))));
  EXPECT_TRUE(waits.take_events().empty());
  EvaluationReader again("b", {.from = waits.next(), .begun = true});
  again.feed(text.substr(waits.next()));
  EXPECT_EQ(again.take_events().size(), 2u) << "nothing is lost where a reader comes back early";

  EvaluationReader jobs("j", {.jobs = true});
  jobs.feed(text);
  const auto events = jobs.take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::kStdout);
  EXPECT_EQ(events[0].text, "12356");
}

TEST(EvaluationReaderTest, KeepsTheLastOfWhatJobsWroteBefore) {
  const std::string piece(1000, 'x');
  std::string text;
  for (int i = 0; i < 2000; ++i) text += late("j", piece) + late("k", "y");
  EvaluationReader reader("a", {});
  reader.feed(text + begin("a") + done("a"));
  std::uint64_t got = 0;
  std::uint64_t dropped = 0;
  for (const ContextEvent& one : reader.take_events()) {
    got += one.text.size();
    dropped += one.bytes;
  }
  EXPECT_LE(got, EvaluationReader::kMostBackground);
  EXPECT_GT(got, EvaluationReader::kMostBackground / 2);
  EXPECT_EQ(got + dropped, 2000u * 1001u);
}

TEST(EvaluationReaderTest, EndsAsTheLedgerSaysWhereItsOwnEndIsMissing) {
  EvaluationReader reader("a", {.from = 100, .at = 150});
  reader.gap(1000);  // 50 bytes of them are of others
  const LedgerEntry entry{.tag = "t",
                          .at = 150,
                          .end = 1100,
                          .state = EvaluationState::kError,
                          .exit_code = 7,
                          .cwd = "/x"};
  reader.settle(entry);
  EXPECT_EQ(reader.state(), EvaluationState::kError);
  EXPECT_EQ(reader.ending().exit_code, 7u);
  EXPECT_EQ(reader.ending().cwd, "/x");
  EXPECT_EQ(reader.next(), 1100u);
  const auto events = reader.take_events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, Kind::kBackground);
  EXPECT_EQ(events[0].bytes, 50u);
  EXPECT_EQ(events[1].kind, Kind::kGap);
  EXPECT_EQ(events[1].bytes, 950u);
}

TEST(ContextMarkTest, ReadsItsOwnFormAlone) {
  const auto mark = from_mark(to_mark({.id = "main", .generation = 3, .language = "python"}));
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->id, "main");
  EXPECT_EQ(mark->generation, 3u);
  EXPECT_EQ(mark->language, "python");
  for (const char* other :
       {"", "langsmith.ws", "context", "context main", "context main 1", "context main 0 python",
        "context main x python", "context ../x 1 python", "context main 1 cobol",
        "contexts a 1 python", "context main 1 python x"}) {
    EXPECT_FALSE(from_mark(other)) << other;
  }
}

TEST(ContextDriverTest, WritesARequestAsOneLine) {
  const std::string text = request_line("python", {.id = "r", .code = "a\n\"b\"\x01"});
  EXPECT_EQ(text.front(), '\n');
  EXPECT_EQ(text.find('\n', 1), text.size() - 1);
  EXPECT_NE(text.find(R"("run":"r")"), std::string::npos);
}

}  // namespace
}  // namespace cay::code
