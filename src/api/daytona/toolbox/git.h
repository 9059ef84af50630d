// The handlers of /git.
#pragma once
#include "api/common/answer.h"

namespace cay::api::daytona {

// git_tree.cc: the working tree and its history.
Task<http::Response> git_status(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_add(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_commit(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_history(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_reset(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_restore(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_init(core::Cay& cay, ExchangePtr exchange);

// git_branches.cc
Task<http::Response> git_branches(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_create_branch(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_delete_branch(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_checkout(core::Cay& cay, ExchangePtr exchange);

// git_remotes.cc
Task<http::Response> git_clone(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_push(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_pull(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_remotes(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_add_remote(core::Cay& cay, ExchangePtr exchange);

// git_config.cc
Task<http::Response> git_get_config(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_set_config(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> git_configure_user(core::Cay& cay, ExchangePtr exchange);
// Keeps a login in the memory of a program inside, until the sandbox stops.
Task<http::Response> git_authenticate(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
