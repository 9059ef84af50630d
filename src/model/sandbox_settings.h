// The settings of a sandbox. A spec, a sandbox, a patch and the client's types have them as members
// of the same name. The rooms codec, store and client read and write them by this table alone.
//
// A new setting needs a member in these types and a line in visit_settings(). A step in
// store/schema.cc adds the column of its name.
#pragma once
#include <string_view>

namespace cay {

struct Setting {
  std::string_view name;        // of the member, in JSON and of the column
  std::string_view if_empty{};  // of a text that may not be empty: the complaint
};

// Calls visit(setting, member) for each setting that `object` has, in the order of its JSON.
//
// The member's type decides its form. A signed number is a time in seconds: 0 and -1 mean never. An
// optional without a value was not given, and so was a member that has its type's default.
template <class Object, class Visit>
constexpr void visit_settings(Object& object, Visit&& visit) {
  if constexpr (requires { object.idle_ttl_s; }) visit(Setting{"idle_ttl_s"}, object.idle_ttl_s);
  if constexpr (requires { object.delete_after_stop_s; })
    visit(Setting{"delete_after_stop_s"}, object.delete_after_stop_s);
  if constexpr (requires { object.lifetime_s; }) visit(Setting{"lifetime_s"}, object.lifetime_s);
  if constexpr (requires { object.commands_keep_awake; })
    visit(Setting{"commands_keep_awake"}, object.commands_keep_awake);
  if constexpr (requires { object.record_programs; })
    visit(Setting{"record_programs"}, object.record_programs);
  if constexpr (requires { object.profile; })
    visit(Setting{"profile", "must not be empty: leave it out for the usual one"}, object.profile);
  if constexpr (requires { object.tmpfs; }) visit(Setting{"tmpfs"}, object.tmpfs);
  if constexpr (requires { object.volumes; }) visit(Setting{"volumes"}, object.volumes);
}

}  // namespace cay
