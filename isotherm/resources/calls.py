"""Calls a method of a resource type, which may be async (it runs on the loop) or plain (it runs on a thread)."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any


@functools.cache
def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function)


async def call(method: Callable[..., Any], *arguments: object) -> Any:
    if _is_async(getattr(method, "__func__", method)):
        return await method(*arguments)
    return await asyncio.to_thread(method, *arguments)
