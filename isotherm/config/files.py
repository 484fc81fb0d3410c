"""Reads configuration files with oslo.config, so that form, `$` references and quotes are those of OpenStack.

Options of other programs in the same file are ignored; `unknown` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oslo_config import cfg, types

from isotherm import errors
from isotherm.config.settings import Option, Settings, options

_HINT = "write options below a section such as [DEFAULT], one per line: name = value"
# Sections of libraries, whose options `settings` does not list.
_OF_LIBRARIES = ("keystone_authtoken", "oslo_policy", "trustee")


def read(paths: Sequence[Path]) -> Settings:
    """Return the settings of these files. An error names the file, the section and the option."""
    conf = opened([str(path) for path in paths])
    values = {}
    for one in options():
        values[one.field] = _value(conf, one, paths)
    return Settings(**values, config_files=tuple(str(path.absolute()) for path in paths))


def opened(paths: Sequence[str]) -> cfg.ConfigOpts:
    """Parse the files with all options registered, for libraries that read their own sections."""
    conf = cfg.ConfigOpts()
    for one in options():
        conf.register_opt(_registered(one), None if one.group == "DEFAULT" else one.group)
    try:
        conf(args=[], project="isotherm", default_config_files=list(paths), default_config_dirs=[])
    except (cfg.Error, UnicodeDecodeError) as error:
        raise errors.UserError(f"{paths[-1]}: {_first_line(error)}", hint=_HINT) from error
    return conf


def unknown(paths: Sequence[str]) -> list[str]:
    """Return the options in these files that Isotherm does not have, as `[section] name`."""
    known = {(one.group, one.name) for one in options()}
    found = []
    for path in paths:
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(path, sections).parse()
        found += [f"[{group}] {name}" for group, given in sections.items() if group not in _OF_LIBRARIES
                  for name in given if (group, name) not in known]
    return found


def _registered(one: Option) -> cfg.Opt:
    return cfg.Opt(one.name, type=_type(one), default=_plain(one.default), help=one.help, secret=one.secret)


def _type(one: Option) -> Any:
    if isinstance(one.default, bool):
        return types.Boolean()
    if isinstance(one.default, int):
        return types.Integer(min=one.least, max=one.most)
    if isinstance(one.default, float):
        return types.Float(min=one.least, max=one.most)
    if isinstance(one.default, tuple):
        return types.List()
    return types.String(choices=list(one.choices) or None)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _value(conf: cfg.ConfigOpts, one: Option, paths: Sequence[Path]) -> Any:
    section = conf if one.group == "DEFAULT" else conf[one.group]
    try:
        value = section[one.name]
    except (cfg.Error, ValueError) as error:
        raise _bad(one, paths, error) from error
    return tuple(value) if isinstance(value, list) else value


def _bad(one: Option, paths: Sequence[Path], error: Exception) -> errors.UserError:
    # The message never quotes the value of a secret option, not even an invalid one.
    why = "is not valid" if one.secret else _why(error)
    where = next((str(path) for path in reversed(paths) if _names(path, one)), str(paths[-1]))
    return errors.UserError(f"{where}: [{one.group}] {one.name}: {why}", hint=one.help)


def _why(error: Exception) -> str:
    text = _first_line(error)
    found = re.search(r"is not valid: (.*)", text)
    return found.group(1) if found else text


def _names(path: Path, one: Option) -> bool:
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(str(path), sections).parse()
    return one.name in sections.get(one.group, {})


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
