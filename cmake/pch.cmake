# Precompiled headers (CAY_PCH): what coroutine rooms include everywhere, compiled once for all of them.
# ./run and ./test, whose first build is from nothing, switch it on. A build without it shows a missing
# #include, and shares ccache between clones: a precompiled header holds the paths of its own tree.
option(CAY_PCH "Precompile the headers that many files share" OFF)

set(CAY_PCH_ROOMS
  async api/common api/gateway api/langsmith api/daytona api/native api/outbound api/testing client core core/testing
  agent/acp agent/llm agent/loop agent/threads agent/tools gate http providers runtime/keeper runtime/native server vault apps/cay tests/fuzz)
set(CAY_PCH_ASIO
  <algorithm> <chrono> <deque> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <string> <string_view>
  <utility> <variant> <vector>
  <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/io_context.hpp> <boost/asio/steady_timer.hpp>
  <boost/asio/this_coro.hpp> <boost/asio/use_awaitable.hpp> <boost/json.hpp>)

if(CAY_PCH)
  find_package(Boost 1.81 REQUIRED)
  function(cay_pch name)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/pch/${name}.cc CONTENT "// Carries the precompiled header.\n")
    add_library(cay_pch_${name} OBJECT ${CMAKE_BINARY_DIR}/pch/${name}.cc)
    cay_target_options(cay_pch_${name})
    target_link_libraries(cay_pch_${name} PRIVATE Boost::headers Threads::Threads)
    target_precompile_headers(cay_pch_${name} PRIVATE ${ARGN})
  endfunction()
  cay_pch(asio ${CAY_PCH_ASIO})
  if(CAY_TESTS)
    cay_pch(asio_test ${CAY_PCH_ASIO} <gtest/gtest.h>)
    target_link_libraries(cay_pch_asio_test PRIVATE GTest::gtest)
  endif()
endif()

# cay_precompiled(TARGET ROOM NAME): TARGET begins with the precompiled header NAME, if its room is one of those.
function(cay_precompiled target room name)
  if(CAY_PCH AND room IN_LIST CAY_PCH_ROOMS)
    target_precompile_headers(${target} REUSE_FROM cay_pch_${name})
  endif()
endfunction()
