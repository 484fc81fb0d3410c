"""Types for objects of HTTP services."""

from __future__ import annotations

#: Type -> address of its class, which is loaded when it is first needed (decision 33).
TYPES = {
    "Isotherm::Http::Object": "isotherm.resources.http.object:Object",
}
