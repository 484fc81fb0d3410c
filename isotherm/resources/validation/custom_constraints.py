"""The custom constraints that need no cloud: addresses, names, times.

A validator returns the problem with a value, or None. Constraints that ask a cloud (is there such a flavor?) are in
`cloud_lookups.CONSTRAINTS`; where no cloud can be asked, every value passes them.
"""

from __future__ import annotations

import datetime
import inspect
import ipaddress
import json
import re
import zoneinfo
from collections.abc import Mapping
from typing import cast

from isotherm.resources.cloud_lookups import CONSTRAINTS, Ask, Existence
from isotherm.template.parameters.constraints import KnownConstraints, Validator

_MAC = re.compile(r"[0-9a-f]{2}([:-][0-9a-f]{2})([:-][0-9a-f]{2}){4}", re.IGNORECASE)
_LABEL = re.compile(r"[A-Za-z0-9-]{1,63}")
_CRON_FIELD = re.compile(r"[0-9A-Za-z*/,\-?#]+")
_MAX_NAME_CHARS = 255


def _ip_addr(value: object) -> str | None:
    try:
        ipaddress.ip_address(str(value))
    except ValueError:
        return "Invalid IP address"
    return None


def _net_cidr(value: object) -> str | None:
    try:
        if "/" not in str(value):
            raise ValueError
        ipaddress.ip_network(str(value), strict=False)
    except ValueError:
        return f"Invalid net cidr invalid IPNetwork {value} "
    return None


def _ip_or_cidr(value: object) -> str | None:
    if "/" in str(value):
        return _net_cidr(value)
    return None if _ip_addr(value) is None else f"'{value}' is not a valid IP address"


def _mac_addr(value: object) -> str | None:
    return None if _MAC.fullmatch(str(value)) else "Invalid MAC address."


def _dns_name(value: object) -> str | None:
    name = str(value).removesuffix(".")
    reason = f"'{name}' exceeds the {_MAX_NAME_CHARS} character FQDN limit" if len(name) > _MAX_NAME_CHARS else None
    for label in name.split(".") if reason is None else ():
        reason = reason or _wrong_label(label)
    return None if reason is None else f"'{value}' not in valid format. Reason: {reason}"


def _wrong_label(label: str) -> str | None:
    if not label:
        return "Encountered an empty component."
    if label.startswith("-") or label.endswith("-"):
        return f"Name '{label}' must not start or end with a hyphen."
    if not _LABEL.fullmatch(label):
        return f"Name '{label}' must be 1-63 characters long, each of which can only be alphanumeric or a hyphen."
    return None


def _relative_dns_name(value: object) -> str | None:
    if str(value).endswith("."):
        return f"'{value}' is a FQDN. It should be a relative domain name."
    return _dns_name(value)


def _dns_domain(value: object) -> str | None:
    if not value:
        return None
    return f"'{value}' must end with '.'." if not str(value).endswith(".") else _dns_name(value)


def _cron_expression(value: object) -> str | None:
    fields = str(value).split()
    if not 5 <= len(fields) <= 7:
        return "Invalid CRON expression: Exactly 5, 6 or 7 columns has to be specified for iterator expression."
    bad = next((field for field in fields if not _CRON_FIELD.fullmatch(field)), None)
    return None if bad is None else f"Invalid CRON expression: [{value}] is not acceptable, {bad}"


def _timezone(value: object) -> str | None:
    try:
        zoneinfo.ZoneInfo(str(value))
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as exc:
        return f"Invalid timezone: {exc}"
    return None


def _iso_8601(value: object) -> str | None:
    try:
        datetime.datetime.fromisoformat(str(value))
    except ValueError:
        return ""
    return None


def _expiration(value: object) -> str | None:
    return None if _iso_8601(value) is None else f"Expiration {value} is invalid: Unable to parse date string '{value}'"


def _json_string(value: object) -> str | None:
    try:
        json.loads(str(value))
    except ValueError as exc:
        return f"JSON string {value} is invalid: {exc}"
    return None


def _anything(value: object) -> str | None:
    """Accept any value. Heat's validator of this name sleeps, to test a slow constraint; this one does not."""
    return None


class LocalConstraints(KnownConstraints):
    """Validates the local constraints, and lets those that need a cloud pass."""

    def find(self, name: str) -> Validator | None:
        return self.validators.get(name) or (_anything if name in CONSTRAINTS else None)


_VALIDATORS: dict[str, Validator] = {
    "ip_addr": _ip_addr, "net_cidr": _net_cidr, "ip_or_cidr": _ip_or_cidr, "mac_addr": _mac_addr,
    "dns_name": _dns_name, "rel_dns_name": _relative_dns_name, "dns_domain": _dns_domain,
    "cron_expression": _cron_expression, "timezone": _timezone, "iso_8601": _iso_8601, "expiration": _expiration,
    "json_string": _json_string, "test_constr": _anything,
}
LOCAL = LocalConstraints(_VALIDATORS)


def add(validators: Mapping[str, Validator | Ask | Existence]) -> None:
    """Add the validators of a plug-in; an async one asks a cloud. Called before the first template is read."""
    for name, validator in validators.items():
        if isinstance(validator, Existence) or inspect.iscoroutinefunction(validator):
            CONSTRAINTS[name] = validator
        else:
            _VALIDATORS[name] = cast("Validator", validator)
