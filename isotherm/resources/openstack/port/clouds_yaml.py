"""Reads entries of clouds.yaml, the file in which clients of OpenStack keep their clouds.

The file is searched for where the other clients do; secure.yaml beside it adds secrets. An entry becomes a
`CloudAccess`. It is chosen by its name, which comes from --os-cloud or OS_CLOUD.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from isotherm import errors
from isotherm.resources.openstack.port import access as access_
from isotherm.resources.openstack.port.access import CloudAccess, Login, Named, Tls

_PASSWORD = ("password", "v3password")
_APPLICATION = ("v3applicationcredential", "application_credential")
_TOKEN = ("token", "v3token")
_FILES = ("clouds", "secure")
_ENDINGS = (".yaml", ".yml", ".json")


def read(name: str, environment: Mapping[str, str] = os.environ) -> CloudAccess:
    """Return the access of an entry. Raises UserError as `entry` does."""
    return access(name, *entry(name, environment))


def entry(
    name: str, environment: Mapping[str, str] = os.environ, hint: str = "Choose one with --os-cloud or OS_CLOUD."
) -> tuple[Mapping[str, Any], str]:
    """Return an entry and its file. Raises UserError with the files that were searched and the entries that exist."""
    files = [_found(kind, environment) for kind in _FILES]
    if files[0] is None:
        searched = "\n  ".join(str(path) for path in _candidates("clouds", environment))
        raise errors.UserError(f"Cloud {name}: no clouds.yaml was found. Searched:\n  {searched}",
                               hint="Write one, or name it in OS_CLIENT_CONFIG_FILE.")
    entries: dict[str, Any] = {}
    for file in files:
        if file is not None:
            entries = _merged(entries, _entries(file))
    found = entries.get(name)
    if not isinstance(found, dict):
        raise errors.UserError(f"{files[0]} has no cloud {name}. It has: {', '.join(sorted(entries)) or 'none'}.",
                               hint=hint)
    return found, str(files[0])


def access(name: str, entry: Mapping[str, Any], source: str) -> CloudAccess:
    """Return the access that an entry describes."""
    auth = _texts(entry.get("auth"), f"{source}: cloud {name}: auth")
    # The SDK accepts these two beside `auth` as well as inside.
    url = auth.get("auth_url") or ""
    if not url:
        raise errors.UserError(f"{source}: cloud {name} has no auth_url.", hint="Add it below auth: https://HOST:5000/v3")
    region = entry.get("region_name") or _first_region(entry)
    return CloudAccess(access_.keystone_url(url), _login(name, entry, auth, source), str(region or ""),
                  access_.interface_of(str(entry.get("interface") or entry.get("endpoint_type") or "public")), tls(entry),
                  access_.endpoint_overrides(entry), name)


def tls(entry: Mapping[str, Any]) -> Tls:
    """Return the TLS settings of an entry."""
    verify = entry.get("verify", True)
    return Tls(verify is not False and str(verify).lower() != "false" and not entry.get("insecure"),
               _path(entry.get("cacert")), _path(entry.get("cert")), _path(entry.get("key")))


def _login(name: str, entry: Mapping[str, Any], auth: Mapping[str, str], source: str) -> Login:
    kind = str(entry.get("auth_type") or ("token" if auth.get("token") and not auth.get("password") else
                                          "v3applicationcredential" if auth.get("application_credential_secret")
                                          else "password"))
    user = Named(auth.get("user_id", ""), auth.get("username", "") or auth.get("user_name", ""),
                 auth.get("user_domain_id", "") or auth.get("default_domain_id", "") or auth.get("domain_id", ""),
                 auth.get("user_domain_name", "") or auth.get("default_domain_name", "") or auth.get("domain_name", ""))
    project = Named(auth.get("project_id", "") or auth.get("tenant_id", ""),
                    auth.get("project_name", "") or auth.get("tenant_name", ""),
                    auth.get("project_domain_id", "") or auth.get("default_domain_id", ""),
                    auth.get("project_domain_name", "") or auth.get("default_domain_name", ""))
    trust = auth.get("trust_id", "")

    def needed(*keys: str) -> None:
        missing = [key for key in keys if not any(auth.get(one) for one in key.split(" or "))]
        if missing:
            raise errors.UserError(f"{source}: cloud {name}: auth has no {', no '.join(missing)}.",
                                   hint=f"The auth_type {kind} needs it.")

    if kind in _PASSWORD:
        needed("username or user_id", "password", *(() if trust else ("project_name or project_id",)))
        return Login("password", user, auth["password"], project=Named() if trust else project, trust=trust)
    if kind in _APPLICATION:
        needed("application_credential_secret", "application_credential_id or application_credential_name")
        application = Named(auth.get("application_credential_id", ""), auth.get("application_credential_name", ""))
        if not application.id:
            needed("username or user_id")
        return Login("application_credential", user, auth["application_credential_secret"], application)
    if kind in _TOKEN:
        needed("token")
        return Login("token", secret=auth["token"], project=Named() if trust else project, trust=trust)
    raise errors.UserError(f"{source}: cloud {name} has the auth_type {kind}, which is not supported here.",
                           hint="Supported are password, v3applicationcredential and token.")


def _first_region(entry: Mapping[str, Any]) -> str:
    """Return the first of `regions`, whose elements are names or mappings with a name."""
    regions = entry.get("regions")
    first = regions[0] if isinstance(regions, list) and regions else ""
    return str(first.get("name", "") if isinstance(first, dict) else first)


def _texts(given: object, where: str) -> dict[str, str]:
    if not isinstance(given, dict):
        raise errors.UserError(f"{where} is missing, or not a mapping.", hint="It holds auth_url, username and so on.")
    # YAML makes numbers of names and passwords that look like numbers.
    return {str(key).replace("-", "_"): str(value) for key, value in given.items() if value is not None}


def _path(given: object) -> str:
    return str(Path(str(given)).expanduser()) if given else ""


def _candidates(kind: str, environment: Mapping[str, str]) -> list[Path]:
    """Return the files that may hold the clouds, or the secrets, in the order in which they are tried."""
    named = environment.get("OS_CLIENT_CONFIG_FILE" if kind == "clouds" else "OS_CLIENT_SECURE_FILE")
    if named:
        return [Path(named).expanduser()]
    config = environment.get("XDG_CONFIG_HOME") or "~/.config"
    folders = [Path(), Path(config).expanduser() / "openstack", Path("/etc/openstack")]
    clouds = environment.get("OS_CLIENT_CONFIG_FILE")
    if clouds:
        folders.insert(0, Path(clouds).expanduser().parent)
    return [(folder / f"{kind}{ending}").absolute() for folder in folders for ending in _ENDINGS]


def _found(kind: str, environment: Mapping[str, str]) -> Path | None:
    return next((path for path in _candidates(kind, environment) if path.is_file()), None)


def _entries(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        # The error of YAML quotes lines, which may hold a password.
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise errors.UserError(f"{file} cannot be read{where}.", hint="It must be a YAML file that you may read.") from None
    entries = content.get("clouds") if isinstance(content, dict) else None
    if not isinstance(entries, dict):
        raise errors.UserError(f"{file} has no section clouds.", hint="Write the clouds below `clouds:`, by their names.")
    return {str(name): entry for name, entry in entries.items()}


def _merged(below: Any, above: Any) -> Any:
    """Return two mappings as one; values of the second win."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{key: _merged(below.get(key), value) if key in below else value for key, value in above.items()}}
