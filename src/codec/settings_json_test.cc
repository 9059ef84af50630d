#include "codec/settings_json.h"

#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>

namespace cay::codec {
namespace {

// Settings that no code but this table names.
struct Box {
  std::string colour;
  bool lid = false;
  std::int64_t keep_s = 0;
  Profile profile = Profile::kDefault;
  TmpfsMounts rooms{};
  VolumeMounts drawers{};
  PathList notes{};
  bool operator==(const Box&) const = default;
};
struct BoxRequest {
  std::string colour;
  std::optional<bool> lid;
  std::optional<std::int64_t> keep_s;
  TmpfsMounts rooms{};
  VolumeMounts drawers{};
  PathList notes{};
  bool operator==(const BoxRequest&) const = default;
};
template <class T>
concept OfBoxes =
    std::same_as<std::remove_const_t<T>, Box> || std::same_as<std::remove_const_t<T>, BoxRequest>;
template <OfBoxes Object, class Visit>
void visit_settings(Object& object, Visit&& visit) {
  visit(Setting{"colour", "must not be empty: boxes have one"}, object.colour);
  visit(Setting{"lid"}, object.lid);
  visit(Setting{"keep_s"}, object.keep_s);
  if constexpr (requires { object.profile; }) visit(Setting{"profile"}, object.profile);
  visit(Setting{"rooms"}, object.rooms);
  visit(Setting{"drawers"}, object.drawers);
  visit(Setting{"notes"}, object.notes);
}

Result<BoxRequest> request_from(const json::object& in) {
  BoxRequest out;
  Fields fields(in);
  read_settings(fields, out);
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

TEST(SettingsJsonTest, AnAnswerThereAndBack) {
  const Box box{"red",
                true,
                60,
                Profile::kNested,
                {{"/a", 5}, {"/b", 1ull << 40}},
                {{.volume = "v", .path = "/v", .shared = true}},
                {"/n", "/m"}};
  json::object out;
  put_settings(out, box);
  EXPECT_EQ(write(out), R"({"colour":"red","lid":true,"keep_s":60,"profile":"nested",)"
                        R"("rooms":{"/a":5,"/b":1099511627776},)"
                        R"("drawers":[{"volume":"v","path":"/v","read_only":false,"shared":true}],)"
                        R"("notes":["/n","/m"]})");
  Box got;
  settings_at(out, got);
  EXPECT_EQ(got, box);
  settings_at({{"colour", 7}, {"rooms", "none"}}, got);
  EXPECT_EQ(got, Box{}) << "what is missing or wrong is empty";
}

TEST(SettingsJsonTest, ARequestHoldsWhatWasGiven) {
  json::object out;
  put_given_settings(out, BoxRequest{});
  EXPECT_EQ(write(out), "{}");
  const BoxRequest request{"\xff", false, 0, {{"/a", 0}}};
  put_given_settings(out, request);
  EXPECT_EQ(write(out),
            "{\"colour\":\"\xEF\xBF\xBD\",\"lid\":false,\"keep_s\":0,\"rooms\":{\"/a\":0}}");
  const auto got = request_from(parse_object(write(out)).value_or({}));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->lid, false);
  EXPECT_EQ(got->keep_s, 0);
  EXPECT_EQ(got->rooms, request.rooms);
  EXPECT_EQ(*request_from({}), BoxRequest{});
  EXPECT_EQ(request_from({{"keep_s", -1}})->keep_s, 0) << "-1 is never, as 0 is";
}

TEST(SettingsJsonTest, WrongRequestsAreRefusedByName) {
  const auto complaint = [](const json::object& in) {
    const auto got = request_from(in);
    return got ? std::string() : got.error().message;
  };
  EXPECT_EQ(complaint({{"colour", ""}}), "colour: must not be empty: boxes have one");
  for (const json::object& bad :
       {json::object{{"lid", 1}}, json::object{{"keep_s", -2}},
        json::object{{"keep_s", kMostSeconds + 1}}, json::object{{"rooms", {{"/a", -1}}}},
        json::object{{"notes", {1}}}, json::object{{"x", 1}}}) {
    EXPECT_TRUE(complaint(bad).starts_with(std::string(bad.begin()->key())))
        << write(bad) << complaint(bad);
  }
}

template <class Object>
std::vector<std::string_view> names_in() {
  std::vector<std::string_view> out;
  Object object;
  visit_settings(object, [&out](const Setting& setting, auto&) { out.push_back(setting.name); });
  return out;
}

TEST(SettingsJsonTest, ASandboxHasTheSettingsOfItsSpec) {
  EXPECT_EQ(names_in<Sandbox>(), names_in<SandboxSpec>());
  EXPECT_EQ(names_in<Sandbox>().size(), 10u);
}

}  // namespace
}  // namespace cay::codec
