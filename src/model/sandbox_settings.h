// The settings of a sandbox. A spec, a sandbox, a patch and the client's types have them as members
// of the same name. The rooms codec, core, store and client read and write them by this table
// alone.
//
// A new setting needs a line in visit_settings_of_both() and a member in these types. They are in
// model/sandbox.h and in include/cay/types.h. A step in store/schema.cc adds the column of its
// name, and api/native/openapi.json documents it.
#pragma once
#include <string_view>

namespace cay {

struct Setting {
  std::string_view name;        // of the member, in JSON and of the column
  std::string_view if_empty{};  // of a text that may not be empty: the complaint
};

// Calls visit(setting, member of a, member of b) for each setting that both have, in the order of
// its JSON.
//
// The member's type decides its form. A signed number is a time in seconds: 0 and -1 mean never. An
// optional without a value was not given, and so was a member that has its type's default.
template <class A, class B, class Visit>
constexpr void visit_settings_of_both(A& a, B& b, Visit&& visit) {
  if constexpr (requires { a.idle_ttl_s, b.idle_ttl_s; })
    visit(Setting{"idle_ttl_s"}, a.idle_ttl_s, b.idle_ttl_s);
  if constexpr (requires { a.delete_after_stop_s, b.delete_after_stop_s; })
    visit(Setting{"delete_after_stop_s"}, a.delete_after_stop_s, b.delete_after_stop_s);
  if constexpr (requires { a.lifetime_s, b.lifetime_s; })
    visit(Setting{"lifetime_s"}, a.lifetime_s, b.lifetime_s);
  if constexpr (requires { a.commands_keep_awake, b.commands_keep_awake; })
    visit(Setting{"commands_keep_awake"}, a.commands_keep_awake, b.commands_keep_awake);
  if constexpr (requires { a.record_programs, b.record_programs; })
    visit(Setting{"record_programs"}, a.record_programs, b.record_programs);
  if constexpr (requires { a.profile, b.profile; })
    visit(Setting{"profile", "must not be empty: leave it out for the usual one"}, a.profile,
          b.profile);
  if constexpr (requires { a.tmpfs, b.tmpfs; }) visit(Setting{"tmpfs"}, a.tmpfs, b.tmpfs);
  if constexpr (requires { a.volumes, b.volumes; }) visit(Setting{"volumes"}, a.volumes, b.volumes);
  if constexpr (requires { a.read_only_paths, b.read_only_paths; })
    visit(Setting{"read_only_paths"}, a.read_only_paths, b.read_only_paths);
  if constexpr (requires { a.hidden_paths, b.hidden_paths; })
    visit(Setting{"hidden_paths"}, a.hidden_paths, b.hidden_paths);
}

// Calls visit(setting, member) for each setting that `object` has.
template <class Object, class Visit>
constexpr void visit_settings(Object& object, Visit&& visit) {
  visit_settings_of_both(object, object, [&visit](const Setting& setting, auto& member, auto&) {
    visit(setting, member);
  });
}

}  // namespace cay
