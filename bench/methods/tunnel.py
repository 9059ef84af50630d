"""The ways in: a service by its link, `cay tunnel`, yamux; beside the plain loopback."""

import os
from unittest import mock

import ways
from harness import CAY


def measure(at):
    with mock.patch.dict(os.environ, {**at.daemon.env, "CAY_PROGRAM": str(CAY)}):
        for row in ways.services(at.fresh_api(), at.count(40, 10), at.count(7, 2), at.told):
            at.rows.append({"method": at.method, **row})
