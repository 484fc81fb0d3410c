"""Fetching what a user names by URL, on his behalf, without lending him our place in the network."""

from isotherm.fetch.addresses import AllowedAddresses, Refused
from isotherm.fetch.fetcher import Fetcher

__all__ = ["AllowedAddresses", "Fetcher", "Refused"]
