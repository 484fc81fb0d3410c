"""Software configs: texts and maps that servers apply, stored by an API of their own.

OS::Heat::SoftwareConfig and its variants differ in how the config is built. A config cannot change: a change of a
property creates another config, and resources that refer to it get the new id.
"""

from __future__ import annotations

import email
import email.message
import uuid
from collections.abc import Iterator, Mapping
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import PurePosixPath
from typing import Any, ClassVar

import yaml

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import software
from isotherm.resources.schema import ANY, BOOLEAN, LIST, MAP, STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

GROUP, CONFIG, OPTIONS, INPUTS, OUTPUTS = "group", "config", "options", "inputs", "outputs"
_TYPES = (constraints.AllowedValues(allowed=("String", "Number", "CommaDelimitedList", "Json", "Boolean")),)

INPUT = Schema(MAP, schema={
    "name": Schema(STRING, "The name of the input.", required=True),
    "description": Schema(STRING, "What the input is."),
    "type": Schema(STRING, "The type of its value.", default="String", constraints=_TYPES),
    "default": Schema(ANY, "The value if none is given."),
    "replace_on_change": Schema(BOOLEAN, "Whether another value makes another deployment.", default=False),
})
OUTPUT = Schema(MAP, schema={
    "name": Schema(STRING, "The name of the output.", required=True),
    "description": Schema(STRING, "What the output is."),
    "type": Schema(STRING, "The type of its value.", default="String", constraints=_TYPES),
    "error_output": Schema(BOOLEAN, "Whether the deployment has failed if this output has a value.", default=False),
})
_ATTRIBUTES: Mapping[str, AttributeSchema] = {"config": AttributeSchema("What the config says.", STRING)}
_GROUP = Schema(STRING, "The tool that applies the config, as the server knows it.", default=software.UNGROUPED)
_OPTIONS = Schema(MAP, "Options for the tool that applies the config.")
_INPUTS = Schema(LIST, "The inputs that the config takes.", schema=INPUT)
_OUTPUTS = Schema(LIST, "The outputs that the config gives.", schema=OUTPUT)


class SoftwareConfig(contract.Resource):
    """A configuration as a text."""

    TYPE = "OS::Heat::SoftwareConfig"
    DESCRIPTION = "Keeps a software configuration: a script or manifest, and what it takes and gives."
    support = Support(version="2014.1")
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        GROUP: _GROUP, CONFIG: Schema(STRING, "The script or manifest."), OPTIONS: _OPTIONS, INPUTS: _INPUTS,
        OUTPUTS: _OUTPUTS,
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = _ATTRIBUTES

    @property
    def _software(self) -> software.Software:
        if self.context.software is None:
            raise errors.Bug("this engine keeps no software configs")
        return self.context.software

    async def handle_create(self) -> object:
        id_ = software.id_for(self.token)
        await self._software.create_config(self.stack_id, await self.made(id_))
        self.physical_id = id_
        return None

    async def find_by_token(self) -> contract.Search:
        found = await self._software.config(self.stack_id, software.id_for(self.token))
        return contract.Absent() if found is None else contract.Found(found.id)

    async def handle_delete(self) -> object:
        if self.physical_id is not None:
            await self._software.delete_config(self.stack_id, self.physical_id)
        return None

    async def handle_check(self) -> object:
        if self.physical_id is None or await self._software.config(self.stack_id, self.physical_id) is None:
            raise errors.Permanent(f"Software config {self.physical_id} does not exist")
        return None

    async def attribute(self, name: str) -> object:
        found = await self._software.config(self.stack_id, self.physical_id) if self.physical_id else None
        return None if found is None else found.config

    async def made(self, id_: str) -> software.Config:
        """Return the config that the properties describe."""
        given = self.properties
        return software.Config(
            id_, self.physical_name, given[GROUP], given[CONFIG], kept_inputs(given[INPUTS]), kept_outputs(given[OUTPUTS]),
            given[OPTIONS],
        )


def kept_inputs(inputs: Any) -> list[dict[str, Any]]:
    """Return the inputs without empty fields."""
    return [{name: value for name, value in one.items() if value is not None and (name != "replace_on_change" or value)}
            for one in inputs or ()]


def kept_outputs(outputs: Any) -> list[dict[str, Any]]:
    return [{name: value for name, value in one.items() if value is not None} for one in outputs or ()]


class StructuredConfig(SoftwareConfig):
    """A configuration as a map."""

    TYPE = "OS::Heat::StructuredConfig"
    DESCRIPTION = "Keeps a software configuration that is a map, for tools that read YAML or JSON."
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        GROUP: _GROUP, OPTIONS: _OPTIONS, INPUTS: _INPUTS, OUTPUTS: _OUTPUTS,
        CONFIG: Schema(MAP, "The configuration as a map."),
    }


class CloudConfig(SoftwareConfig):
    """A configuration for cloud-init."""

    TYPE = "OS::Heat::CloudConfig"
    DESCRIPTION = "Keeps a cloud-config, for cloud-init to apply when a server first starts."
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        "cloud_config": Schema(MAP, "The cloud-config as a map; it is kept as YAML."),
    }

    async def made(self, id_: str) -> software.Config:
        text = yaml.safe_dump(self.properties["cloud_config"], default_flow_style=False)
        return software.Config(id_, self.physical_name, config=f"#cloud-config\n{text}")


class SoftwareComponent(SoftwareConfig):
    """Several configurations, each for actions of its own."""

    TYPE = "OS::Heat::SoftwareComponent"
    DESCRIPTION = "Keeps the configurations of a software component, one for each action of its life."
    support = Support(version="2014.2")
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        "configs": Schema(
            LIST, "The configurations, each with its tool and the actions at which it is applied.", required=True,
            constraints=(constraints.Length(minimum=1),),
            schema=Schema(MAP, schema={
                "actions": Schema(LIST, "The actions at which it is applied.", default=["CREATE", "UPDATE"],
                                  schema=Schema(STRING), constraints=(constraints.Length(minimum=1),)),
                CONFIG: Schema(STRING, "The script or manifest."),
                "tool": Schema(STRING, "The tool that applies it, as the server knows it.", required=True),
            })),
        INPUTS: _INPUTS, OUTPUTS: _OUTPUTS, OPTIONS: _OPTIONS,
    }

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        seen: set[str] = set()
        for one in properties["configs"] or ():
            actions = set(one["actions"] or ())
            if actions & seen:
                yield "Defining more than one configuration for the same action in SoftwareComponent is not allowed."
                return
            seen |= actions

    async def made(self, id_: str) -> software.Config:
        given = self.properties
        return software.Config(
            id_, self.physical_name, software.COMPONENT, {"configs": given["configs"]}, kept_inputs(given[INPUTS]),
            kept_outputs(given[OUTPUTS]), given[OPTIONS],
        )

    async def attribute(self, name: str) -> object:
        # As in Heat: the schema has the attribute from its parent, and a component has several configs instead.
        return None


class MultipartMime(SoftwareConfig):
    """Several configurations in one message."""

    TYPE = "OS::Heat::MultipartMime"
    DESCRIPTION = "Puts configurations together into one multi-part message, for cloud-init."
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        GROUP: Schema(STRING, _GROUP.description, default=software.UNGROUPED, support=Support(version="14.0.0")),
        "parts": Schema(LIST, "The parts of the message.", default=[], schema=Schema(MAP, schema={
            CONFIG: Schema(STRING, "What the part says, or the id of a software config that says it.", required=True),
            "filename": Schema(STRING, "The name of the file that the part is."),
            "type": Schema(STRING, "Whether the part is a text, or a message of which each part becomes one.",
                           default="text", constraints=(constraints.AllowedValues(allowed=("text", "multipart")),)),
            "subtype": Schema(STRING, "What kind of text it is."),
        })),
    }

    async def made(self, id_: str) -> software.Config:
        message = MIMEMultipart(boundary=f"==={uuid.UUID(id_).hex}==")
        for part in self.properties["parts"] or ():
            text = await self._text(part[CONFIG])
            if part["type"] == "multipart":
                for inner in _parts_of(text):
                    message.attach(inner)
            else:
                message.attach(_part(text, part["subtype"], part["filename"]))
        return software.Config(id_, self.physical_name, self.properties[GROUP], message.as_string())

    async def _text(self, given: str) -> str:
        found = await self._software.config(self.stack_id, given) if _is_id(given) else None
        text = given if found is None else found.config
        if not isinstance(text, str):
            raise ValueError(f"Software config {given} is not a text, and cannot be part of a message.")
        return text


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _parts_of(text: str) -> Iterator[MIMEText]:
    message = email.message_from_string(text)
    if message.is_multipart():
        for part in message.walk():
            if not part.is_multipart():
                yield _part(_payload(part), part.get_content_subtype(), part.get_filename())


def _payload(part: email.message.Message) -> str:
    data = part.get_payload(decode=True)
    return data.decode(part.get_content_charset() or "utf-8", "replace") if isinstance(data, bytes) else str(data)


def _part(text: str, subtype: str | None, filename: str | None) -> MIMEText:
    # Heat takes the name of the file, without its ending, for the subtype where none is given.
    kind = subtype or (PurePosixPath(filename).stem if filename else "") or "plain"
    part = MIMEText(text, kind, "us-ascii" if text.isascii() else "utf-8")
    if filename:
        part.add_header("Content-Disposition", "attachment", filename=filename)
    return part
