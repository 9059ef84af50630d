"""Blocking calls for coroutines."""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# The loop's own pool has a few threads for each CPU, and commands wait for minutes.
_pool = ThreadPoolExecutor(max_workers=256, thread_name_prefix="cay")


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Returns the result of the call, which runs in a thread."""
    context = contextvars.copy_context()
    bound = functools.partial(context.run, call, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_pool, bound)
