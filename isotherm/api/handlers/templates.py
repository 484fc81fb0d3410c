"""Handles the template, environment and files of a stack, and the validation of a template."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.responses import Response

from isotherm import errors
from isotherm.api.handlers import stacks
from isotherm.api.http import faults, responses
from isotherm.api.request.call import Call
from isotherm.planning import off_loop

# Heat's code of the one ignorable error: the service that a type needs is not available.
_IGNORABLE = frozenset({"99001"})


async def template(call: Call) -> Response:
    stack = await call.stack(deleted=True)
    return responses.json(await call.orchestrator.inputs.template(stack["id"]))


async def environment(call: Call) -> Response:
    stack = await call.stack(deleted=True)
    return responses.json(await call.orchestrator.inputs.environment(stack["id"]))


async def files(call: Call) -> Response:
    stack = await call.stack(deleted=True)
    return responses.json(await call.orchestrator.inputs.files(stack["id"]))


async def validate(call: Call) -> Response:
    """Validate a template as far as possible without parameter values; return its parameters and groups."""
    asked = await stacks.instantiation(call)
    nested = call.flag("show_nested")
    codes = [code for code in call.query.get("ignore_errors", "").split(",") if code]
    if unknown := [code for code in codes if code not in _IGNORABLE]:
        raise faults.bad_request(f"Invalid codes in ignore_errors : {unknown}")
    with asked.as_heat_errors(), _as_bad_request():
        text = await asked.required_template()
        env = asked.environment(text)
        files = await asked.all_files(text, env)
        found = await off_loop.beside(
            len(text) + off_loop.weight(env), lambda: call.orchestrator.templates.validate(
                text, files, env, nested=nested, is_lenient=bool(codes)))
    return responses.json(found)


@contextmanager
def _as_bad_request() -> Iterator[None]:
    """Turn validation errors into 400: Heat's validate returns the plain message."""
    try:
        yield
    except errors.UserError as error:
        if error.kind != errors.UserError.default_kind:
            raise
        raise faults.bad_request(str(error)) from error
