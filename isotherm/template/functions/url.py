"""`make_url`: a URL from its parts, quoted as each part needs."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode, urlunsplit

from isotherm.template.functions.node import Judged, Live, Misuse, Scope

_PARTS = ("scheme", "username", "password", "host", "port", "path", "query", "fragment")
_MAX_PORT = 65535


class MakeUrl(Judged):
    __slots__ = ()
    form = "make_url"

    def judge(self, args: Any) -> None:
        if not isinstance(args, dict):
            raise Misuse(f'The arguments to "{self.name}" must be a map', "TypeError")
        unknown = sorted(str(key) for key in args if key not in _PARTS)
        if unknown:
            raise Misuse(f'Invalid arguments to "{self.name}": {", ".join(unknown)}', "ValueError")
        self._parts(args)

    def _parts(self, args: dict[str, Any]) -> None:
        for part in _PARTS:
            value = args.get(part)
            if part not in args or isinstance(value, Live):
                continue
            if part == "port":
                self._port(value, args)
            elif part == "query":
                if not isinstance(value, dict):
                    raise Misuse(f'The "{part}" argument to "{self.name}" must be a map', "TypeError")
            elif not isinstance(value, str):
                raise Misuse(f'The "{part}" argument to "{self.name}" must be a string', "TypeError")

    def _port(self, value: Any, args: dict[str, Any]) -> None:
        if not isinstance(value, str | int | float):
            raise Misuse("int() argument must be a string, a bytes-like object or a real number, not"
                         f" '{type(value).__name__}'", "TypeError")
        try:
            number = int(value)
        except (ValueError, OverflowError):
            raise Misuse(f'Invalid URL port "{value}" for {self.name} called with {dict(args)}', "ValueError") from None
        if not 0 < number <= _MAX_PORT:
            raise Misuse(f"Invalid URL port {number}, must be in range 1-{_MAX_PORT}", "ValueError")

    def evaluate(self, args: Any, scope: Scope) -> Any:
        if not isinstance(args, dict):
            raise Misuse(f'The arguments to "{self.name}" must be a map', "TypeError")
        self._parts(args)
        scheme = args.get("scheme", "")
        if ":" in scheme:
            raise Misuse("URL \"scheme\" should not contain ':'", "ValueError")
        scope.budget.charge(3 * scope.budget.measure(args))
        query = urlencode({str(key): value for key, value in args.get("query", {}).items()}, safe="/")
        path, fragment = quote(args.get("path", "")), quote(args.get("fragment", ""))
        return urlunsplit((scheme, _authority(args), path, query, fragment))


def _authority(args: dict[str, Any]) -> str:
    host = args.get("host", "")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    host = quote(host, safe=":")
    if ":" in host:
        host = f"[{host}]"
    user, password = (quote(args.get(part, ""), safe="") for part in ("username", "password"))
    who = f"{user}:{password}@" if password else f"{user}@" if user else ""
    port = args.get("port")
    return f"{who}{host}:{port}" if port else f"{who}{host}"
