"""Mode and owner of files and folders: their forms in templates and as live values."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat

from isotherm import errors
from isotherm.resources.schema import STRING, Schema
from isotherm.template.parameters import constraints

OWNER = Schema(
    STRING, "The owner, as user or user:group, by name or number. Needs the right to give things away. Not set: "
    "the user that runs the engine, and no change of it counts.", update_allowed=True,
    constraints=(constraints.AllowedPattern(pattern=r"[a-zA-Z0-9_.\-]+(:[a-zA-Z0-9_.\-]+)?"),))


def mode(default: str) -> Schema:
    # The leading zero is required: YAML reads an unquoted number with it as octal, which gives another number.
    return Schema(
        STRING, 'The permissions, as four octal digits in quotes, such as "0640".', default=default, update_allowed=True,
        constraints=(constraints.AllowedPattern(
            pattern="0[0-7]{3}", description='it has to be four octal digits in quotes, such as "0644"'),))


def apply(file: int, mode_text: str, owner: str | None) -> None:
    """Set owner and mode by a descriptor. The owner first: changing the owner may change the mode."""
    if owner:
        os.fchown(file, *ids(owner))
    os.fchmod(file, int(mode_text, 8))


def ids(owner: str) -> tuple[int, int]:
    """Return the numbers of user and group; -1 keeps the group."""
    user, _, group = owner.partition(":")
    try:
        return (int(user) if user.isdigit() else pwd.getpwnam(user).pw_uid,
                -1 if not group else int(group) if group.isdigit() else grp.getgrnam(group).gr_gid)
    except KeyError as error:
        raise errors.Permanent(f"owner {owner}: {error.args[0]}") from None


def seen(found: os.stat_result) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return mode and owner as live properties, and all forms of the owner as aliases."""
    users, groups = [str(found.st_uid)], [str(found.st_gid)]
    with contextlib.suppress(KeyError):
        users.insert(0, pwd.getpwuid(found.st_uid).pw_name)
    with contextlib.suppress(KeyError):
        groups.insert(0, grp.getgrgid(found.st_gid).gr_name)
    pairs = [f"{user}:{group}" for user in users for group in groups]
    live = {"mode": f"{stat.S_IMODE(found.st_mode):04o}", "owner": pairs[0]}
    return live, {"owner": [*users, *pairs]}
