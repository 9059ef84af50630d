# Unity builds (CAY_UNITY): a few files of a module are compiled as one, which takes a third of the time of a first build. ./run and
# ./test, whose first build is from nothing, switch it on. A build without it compiles again no more than what was changed, and shows
# a missing #include.
option(CAY_UNITY "Compile files of a module together" OFF)
set(CMAKE_UNITY_BUILD ${CAY_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

# Files with names of their own (in their anonymous namespace) that others of their module have as well: compiled alone. A clash
# shows as "redefinition of" or "ambiguous" in unity_N_cxx.cxx: list one of the two here, or give one a name that says more.
set(CAY_UNITY_ALONE
  apps/cay/keys_command.cc
  apps/cay/launcher_command.cc
  apps/cay/role.cc
  apps/cay/role_watch.cc
  src/agent/acp/server.cc
  src/agent/acp/updates.cc
  src/api/langsmith/execute.cc
  src/api/langsmith/execute_stream.cc
  src/api/langsmith/files.cc
  src/api/langsmith/frames.cc
  src/api/langsmith/links.cc
  src/api/native/file_changes.cc
  src/api/native/network.cc
  src/api/native/programs.cc
  src/api/native/sandboxes.cc
  src/api/native/watches.cc
  src/api/outbound/webhooks.cc
  src/cli/agent_acp.cc
  src/cli/agent_parse_test.cc
  src/cli/secret.cc
  src/client/tar_unpack.cc
  src/core/file_changes.cc
  src/core/file_watches.cc
  src/core/forks.cc
  src/core/testing/fake_files.cc
  src/gate/decisions.cc
  src/gate/first_bytes.cc
  src/http/client.cc
  src/http/client_test.cc
  src/http/connection_shares_test.cc
  src/http/piped_body_test.cc
  src/http/raw_stream.cc
  src/keeper/file_attributes.cc
  src/keeper/file_copy.cc
  src/keeper/file_owner.cc
  src/keeper/file_replace.cc
  src/keeper/file_task.cc
  src/keeper/file_tree.cc
  src/keeper/file_wall.cc
  src/keeper/file_walk.cc
  src/keeper/file_watch.cc
  src/keeper/file_watch_test.cc
  src/keeper/guest_user.cc
  src/keeper/retention_test.cc
  src/keeper/sandboxed_test.cc
  src/policy/rule_set.cc
  src/providers/cay_backend.cc
  src/providers/cay_files.cc
  src/providers/langsmith_backend.cc
  src/providers/langsmith_command.cc
  src/providers/local_backend.cc
  src/providers/local_provider.cc
  src/runtime/native/decision_reader.cc
  src/runtime/native/launcher_client.cc
  src/runtime/keeper/keeper_commands.cc
  src/runtime/keeper/keeper_file_changes.cc
  src/runtime/native/passed_tunnels.cc
  src/runtime/native/program_reader_test.cc
  src/runtime/native/spool_reader.cc
  src/runtime/keeper/tree_calls.cc
  src/store/rows.cc
  src/vault/guest_connection.cc
  src/vault/keyring.cc
  src/vault/relay.cc
  src/vault/relay_test.cc
  src/vault/request_inspector.cc
  src/vault/rules_test.cc
  src/vault/response_scanner_test.cc
)

# cay_unity(TARGET): leaves those of its files that stand above out of its unity files; called in its folder.
function(cay_unity target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
    string(APPEND path /${source})
    if(path IN_LIST CAY_UNITY_ALONE)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()
