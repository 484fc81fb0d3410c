"""Checks of the structure of a template: sections, keys of resources, groups of parameters, names.

They need no function and no value. Their order is Heat's, so that a template with several mistakes reports the same one
first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm import errors
from isotherm.template.limits import Limits, exceeded
from isotherm.template.versions import Dialect

_ALL_HOT_KEYS = frozenset({"type", "properties", "metadata", "depends_on", "deletion_policy", "update_policy",
                           "description", "external_id", "condition", "value"})


def check_sections(data: Mapping[Any, Any], dialect: Dialect) -> None:
    for section in data:
        if section not in dialect.sections:
            raise errors.UserError(f"The template section is invalid: {section}",
                                   hint=f"sections are: {', '.join(sorted(dialect.sections - {'__undefined__'}))}")


def check_resources(section: Any, dialect: Dialect) -> None:
    """Check that every resource is a map with known keys and a type."""
    if not isinstance(section, Mapping):
        raise _not_a_map(section, dialect)
    for data in section.values():
        if not data:
            raise _no_type(dialect)
        if not isinstance(data, Mapping):
            raise _not_a_map(data, dialect)
        if dialect.is_hot and not dialect.resource_keys.issuperset(data):
            _refuse_key(data, dialect)
        if dialect.words.type not in data:
            raise _no_type(dialect)


def _refuse_key(data: Mapping[Any, Any], dialect: Dialect) -> None:
    hint = f"keys are: {', '.join(sorted(dialect.resource_keys))}"
    for key in data:
        if key not in _ALL_HOT_KEYS:
            raise errors.UserError(f'"{key}" is not a valid keyword inside a resource definition', hint=hint)
    unknown = [str(key) for key in data if key not in dialect.resource_keys]
    raise errors.UserError(f"Invalid keyword(s) inside a resource definition: {', '.join(unknown)}", hint=hint)


def _not_a_map(found: Any, dialect: Dialect) -> errors.UserError:
    if dialect.is_hot:
        return errors.UserError(f'"resources" must contain a map of resource maps. Found a [{type(found)}] instead')
    return errors.UserError(f"Resources must contain Resource. Found a [{type(found)}] instead")


def _no_type(dialect: Dialect) -> errors.UserError:
    if dialect.is_hot:
        return errors.UserError("Each resource must contain a type key.")
    return errors.UserError("Each Resource must contain a Type key.")


def check_groups(section: Any, parameters: Mapping[str, Any]) -> None:
    """Check that each group is a list of parameters, and that each parameter is in at most one group."""
    if not section:
        return
    if not isinstance(section, list):
        raise _group_error("parameter_groups", "The parameter_groups should be a list.")
    grouped: set[Any] = set()
    for group in section:
        if not isinstance(group, Mapping):
            raise errors.UserError(f"'{type(group).__name__}' object has no attribute 'get'", kind="AttributeError")
        label = group.get("label", "")
        path = f"parameter_groups[{label}]" if str(label).isdigit() else f"parameter_groups.{label}"
        names = group.get("parameters")
        if names is None:
            raise _group_error(path, "The parameters must be provided for each parameter group.")
        if not isinstance(names, list):
            raise _group_error(path, "The parameters of parameter group should be a list.")
        for name in names:
            _check_member(name, path, grouped, parameters)


def _check_member(name: Any, path: str, grouped: set[Any], parameters: Mapping[str, Any]) -> None:
    if not isinstance(name, str) or name not in parameters:
        raise _group_error(path, f"The grouped parameter {name} does not reference a valid parameter.")
    if name in grouped:
        raise _group_error(path, f"The {name} parameter must be assigned to one parameter group only.")
    grouped.add(name)


def _group_error(path: str, message: str) -> errors.UserError:
    return errors.UserError(problems=(errors.Problem(message, path=path, label="Parameter Groups error"),))


def check_names(what: str, section: Any, limits: Limits) -> None:
    """Check names: they are used in paths, headers, logs and columns, and must not contain their delimiters."""
    if not isinstance(section, Mapping):
        return
    for name in section:
        text = str(name)
        if len(text) > limits.max_name_chars:
            raise exceeded(f"name of a {what} is longer than {limits.max_name_chars} characters: {text[:40]}...",
                           limits.max_name_chars)
        if not text.isprintable() or text in (".", ".."):
            raise errors.UserError(f"{what.capitalize()} name may not contain control characters: {text!r:.60}")


def check_count(what: str, section: Any, limits: Limits) -> None:
    if isinstance(section, Mapping) and len(section) > limits.max_entries:
        raise exceeded(f"too many {what}: {len(section)}", limits.max_entries)
