"""Fetches texts by URL for users, without giving them access to private networks (SSRF protection).

`Fetcher` fetches, `AllowedAddresses` decides which addresses may be connected to. The API and resource types use both.
"""

from isotherm.fetch.addresses import AllowedAddresses, UrlRefused
from isotherm.fetch.fetcher import Fetcher

__all__ = ["AllowedAddresses", "Fetcher", "UrlRefused"]
