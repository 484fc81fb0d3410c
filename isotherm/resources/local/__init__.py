"""Types for files, folders and processes of the machine that the engine runs on, confined to one base folder."""

from __future__ import annotations

from isotherm.resources.contract import Resource
from isotherm.resources.local.directory import Directory
from isotherm.resources.local.file import File
from isotherm.resources.local.process import Process

TYPES: tuple[type[Resource], ...] = (Directory, File, Process)
