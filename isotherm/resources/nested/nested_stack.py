"""Base class of resources that are stacks, and templates that serve as types.

Such a resource starts an operation on its stack and waits for the end of that operation; it does not poll. It describes
the wanted stack (`child`), and the port `contract.Stacks` does the rest. An update that arrives while an older one is
running is passed on at once: it supersedes the operation on the nested stack as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract, schema
from isotherm.resources.runner import NestedFailure
from isotherm.states import Action
from isotherm.template.model import model
from isotherm.template.parameters.schema import ParameterSchema, ParameterType
from isotherm.template.text import document

# The end of the operation wakes the resource. This is the longest wait if that wake-up is lost.
_LOOK_ANYWAY_S = 300.0
IMPLEMENTATION = "template:"
# The output that stands for the reference of a stack that serves as a resource.
STACK_ID = "OS::stack_id"


class StackResource(contract.Resource):
    """A resource that is a stack."""

    # Whether `attribute` gets the JSON of a whole path in place of a name.
    attributes_by_path: ClassVar[bool] = False
    # Whether the stack is nested, and deleted with its parent. A stack without an owner is listed among the user's stacks.
    owned: ClassVar[bool] = True
    # The name of the nested stack in the path of a problem.
    inside: ClassVar[str] = "nested_stack"

    @classmethod
    def template_for(cls, properties: Mapping[str, Any]) -> str | None:
        """Return the template of the nested stack as far as these properties determine it, or None."""
        return None

    @classmethod
    def parameters_for(cls, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters of the nested stack as far as these properties determine them."""
        return {}

    @classmethod
    def copies(cls, properties: Mapping[str, Any]) -> int:
        """Return how many copies of `template_for` the nested stack has."""
        return 1

    @classmethod
    def relocated(cls, problem: errors.Problem, around: str) -> errors.Problem:
        """Return a problem of the nested stack with the path seen from the outer stack."""
        return located_inside(problem, f"{around}<{cls.inside}>")

    @classmethod
    def bound_to_stack(cls, properties: Mapping[str, Any]) -> str:
        return "its object is a stack"

    def child(self) -> contract.Child:
        """Return the wanted nested stack, from `self.properties`."""
        raise NotImplementedError

    async def foreseen(self, changed: Mapping[str, Any]) -> contract.Child:
        """Return the nested stack that an update would lead to. Only reads."""
        return self.child()

    @property
    def stacks(self) -> contract.Stacks:
        if self.context.stacks is None:
            raise errors.Bug("this engine has no nested stacks")
        return self.context.stacks

    def needs_replace_failed(self) -> bool:
        return False

    async def handle_create(self) -> object:
        self.physical_id, operation = await self.stacks.create(self.physical_name, self.child())
        return {"operation": operation}

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if self.physical_id is None:
            return await self.handle_create()
        return {"operation": await self.stacks.update(self.physical_id, self.child())}

    async def handle_adopt(self) -> object:
        if self.physical_id is None:
            raise errors.Bug(f"{self.name} is to be adopted, and has no stack")
        return {"operation": await self.stacks.adopt(self.physical_id, await self.foreseen({}))}

    async def handle_delete(self) -> object:
        return await self._start(Action.DELETE)

    async def handle_check(self) -> object:
        progress = await self._start(Action.CHECK)
        if not progress:
            gone, self.physical_id = self.physical_id, None
            raise errors.Permanent(f"stack {gone} does not exist")
        return progress

    async def handle_suspend(self) -> object:
        return await self._start(Action.SUSPEND)

    async def handle_resume(self) -> object:
        return await self._start(Action.RESUME)

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._ended(progress)

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._ended(progress)

    async def check_delete_complete(self, progress: Any) -> bool | contract.Wait:
        return True if not progress else await self._ended(progress)

    async def check_suspend_complete(self, progress: Any) -> bool | contract.Wait:
        return True if not progress else await self._ended(progress)

    async def check_resume_complete(self, progress: Any) -> bool | contract.Wait:
        return True if not progress else await self._ended(progress)

    async def check_adopt_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._ended(progress)

    async def check_check_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._ended(progress)

    async def find_by_token(self) -> contract.Search:
        return contract.found(await self.stacks.find(self.physical_name))

    async def attribute(self, name: str) -> object:
        if self.physical_id is None:
            return None
        inner, path = within(name)
        if inner and path:
            return (await self.stacks.published(self.physical_id, path)).get(inner)
        if inner:
            return (await self.stacks.references(self.physical_id)).get(inner)
        return (await self.stacks.outputs(self.physical_id)).get(name)

    async def _start(self, action: Action) -> dict[str, Any] | None:
        operation = None if self.physical_id is None else await self.stacks.act(self.physical_id, action)
        return None if operation is None else {"operation": operation}

    async def _ended(self, progress: Any) -> bool | contract.Wait:
        if self.physical_id is None:
            return True
        # An object that was found by its token has no progress: the newest operation of its stack is the one.
        operation = progress["operation"] if progress else None
        ending = await self.stacks.ending(self.physical_id, operation)
        if ending.awaits:
            return contract.Wait(_LOOK_ANYWAY_S, f"stack {self.physical_name}", awaits=ending.awaits)
        if ending.failure:
            raise NestedFailure(ending.failure)
        return True


def located_inside(problem: errors.Problem, inside: str) -> errors.Problem:
    """Return a problem of the stack at `inside` with its path.

    Kinds other than validation become the label, as in Heat.
    """
    label = problem.label if problem.kind == errors.UserError.default_kind else problem.kind
    return replace(problem, path=f"{inside}.{problem.path}" if problem.path else inside, label=label,
                   kind=errors.UserError.default_kind)


def within(attribute: str) -> tuple[str, list[Any]]:
    """Split `resource.web.ip` into the resource `web` and the path `ip`; `resource.web` has no path."""
    if not attribute.startswith("resource."):
        return "", []
    _, inner, *path = attribute.split(".", 2)
    return inner, list(path)


class TemplateResource(StackResource):
    """A template that serves as a type: its parameters are the properties, its outputs the attributes."""

    DESCRIPTION = "A stack from a template of the user's."
    template: ClassVar[str] = ""
    implementation: ClassVar[str] = IMPLEMENTATION
    # An attribute that is no output reads as null; `resource.web.ip` reads further down. Where the template is not known
    # (its text is gone, and only its stack is left to delete), nothing is checked.
    traits = contract.Traits(has_more_attributes=True, accepts_anything=True)

    @classmethod
    def implementation_name(cls) -> str:
        return cls.implementation

    @classmethod
    def template_for(cls, properties: Mapping[str, Any]) -> str | None:
        return cls.template or None

    @classmethod
    def parameters_for(cls, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        return {name: _items(value) if isinstance(value, list) else value
                for name, value in properties.items() if value is not None}

    async def reference(self) -> object:
        """Return the output OS::stack_id of the template if it has one, else the ARN of the stack."""
        if self.physical_id is None:
            return self.name
        output = (await self.stacks.outputs(self.physical_id)).get(STACK_ID) if STACK_ID in self.attributes_schema else None
        return await self.stacks.arn(self.physical_id) if output is None else output

    def child(self) -> contract.Child:
        exports: dict[str, list[list[Any]]] = {}
        for inner, path in map(within, self.exports):
            if inner and path:
                exports.setdefault(inner, []).append(path)
        return contract.Child(self.template, self.parameters_for(self.properties), exports=exports)


def _items(value: list[Any]) -> list[Any]:
    """Return the items of a list as a list parameter takes them: maps in Heat's form, null as empty text."""
    if value and isinstance(value[0], Mapping):
        return [f".member.{number}.{key}={one}" for number, item in enumerate(value) if isinstance(item, Mapping)
                for key, one in item.items()]
    return ["" if item is None else item for item in value]


def is_template(implementation: str) -> bool:
    """Return whether an implementation name stands for a template."""
    return implementation.startswith(IMPLEMENTATION)


def is_stack(one: type[contract.Resource]) -> bool:
    """Return whether the objects of a type are stacks: a newer operation may change them while an older one is at work."""
    return issubclass(one, StackResource)


def reads_paths(one: type[contract.Resource]) -> bool:
    """Return whether `attribute` of a type gets the JSON of a whole path in place of a name."""
    return issubclass(one, StackResource) and one.attributes_by_path


def owns_nested_stack(one: type[contract.Resource]) -> bool:
    """Return whether the objects of a type are nested stacks of the stack that the resource is in."""
    return issubclass(one, StackResource) and one.owned


def is_forgotten(one: type[contract.Resource]) -> bool:
    """Return whether a type stands for a template whose text was missing when it was loaded."""
    return issubclass(one, TemplateResource) and not one.template


@lru_cache(maxsize=4096)
def template_type(
    text: str, type_name: str = "", file: str = "", given: frozenset[str] | None = None
) -> type[TemplateResource]:
    """Return the type made from a template. Raises UserError if the template cannot serve as a type.

    `given` are parameters that have a value without being properties; None: no parameter is required, as for a template
    that was accepted before.
    """
    found = model.parse(document.load(text))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    outputs = {name: schema.AttributeSchema(one.get("description", "") if isinstance(one, Mapping) else "")
               for name, one in found.outputs.items()}
    return type(
        "TemplateType",
        (TemplateResource,),
        {
            "TYPE": type_name or IMPLEMENTATION + digest,
            "DESCRIPTION": found.description,
            "template": text,
            "implementation": IMPLEMENTATION + digest,
            "inside": file or StackResource.inside,
            "traits": _KNOWN_TEMPLATE,
            "properties_schema": {name: _property(one, given) for name, one in found.parameters.items()},
            "attributes_schema": outputs,
        },
    )


_KNOWN_TEMPLATE = contract.Traits(has_more_attributes=True)
_TYPES = {
    ParameterType.STRING: schema.STRING,
    ParameterType.NUMBER: schema.NUMBER,
    ParameterType.LIST: schema.LIST,
    ParameterType.JSON: schema.MAP,
    ParameterType.BOOLEAN: schema.BOOLEAN,
}


def _property(parameter: ParameterSchema, given: frozenset[str] | None) -> schema.Schema:
    """Return a parameter as a property."""
    required = given is not None and not parameter.has_default and parameter.name not in given
    return schema.Schema(
        _TYPES[parameter.type], parameter.description or "", required=required, update_allowed=True,
        allow_conversion=True, constraints=parameter.constraints,
    )
