"""Types for files, folders and processes of the machine that the engine runs on, confined to one base folder."""

from __future__ import annotations

#: Type -> address of its class, which is loaded when it is first needed (decision 33).
TYPES = {
    "Isotherm::Local::Directory": "isotherm.resources.local.directory:Directory",
    "Isotherm::Local::File": "isotherm.resources.local.file:File",
    "Isotherm::Local::Process": "isotherm.resources.local.process:Process",
}
