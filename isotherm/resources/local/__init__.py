"""Types for the machine that the engine runs on: reality without a cloud, inside a folder that the operator lends."""

from __future__ import annotations

from isotherm.resources.contract import Resource
from isotherm.resources.local.directory import Directory
from isotherm.resources.local.file import File
from isotherm.resources.local.process import Process

TYPES: tuple[type[Resource], ...] = (Directory, File, Process)
