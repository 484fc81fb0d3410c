"""The headers of every answer below `/ui`: what the page may load, and which pages may embed it."""

from __future__ import annotations

_POLICY = {
    "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:",
    "connect-src": "'self'", "font-src": "'self'", "worker-src": "'self'", "form-action": "'self'",
    "frame-ancestors": "'none'", "base-uri": "'none'", "require-trusted-types-for": "'script'",
}

SAFE = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
