"""Patches: updates that name only the changes (Heat: PATCH, `--existing`), and the requests that they amount to.

Everything else stays: the template with its files, the parameters, the rest of the environment, rollback and time limit. A
parameter that is cleared or null goes back to its default. Values of parameters that the new template does not define are
dropped. A client that changes what it was shown sends masks of secrets back: these keep the secrets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isotherm import errors
from isotherm.engine.operations import history
from isotherm.engine.operations.accept import Request
from isotherm.engine.operations.history import PastInput
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.planning import documents, masking
from isotherm.planning.desired import StackInput
from isotherm.secrets import MASK
from isotherm.store.reads import lookups
from isotherm.template import environment
from isotherm.template.model import model
from isotherm.template.text import document


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of a stack's present input. None leaves a field as it is."""

    template: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    clear_parameters: Sequence[str] = ()
    # Whether parameters and environment of the stack stay where the patch does not change them.
    existing: bool = True
    # Whether an unknown parameter is an error; Heat ignores it.
    strict: bool = True
    disable_rollback: bool | None = None
    timeout_s: float | None = None
    tags: Sequence[str] | None = None
    # Whether the update observes reality before it decides.
    converge: bool = False
    # Resources that get another name, old name to new name.
    moved: Mapping[str, str] = field(default_factory=dict)
    # Only these resources are changed, with what they need; these are not changed, nor what needs them.
    target: Sequence[str] = ()
    exclude: Sequence[str] = ()


Change = Request | Patch | PastInput


async def whole(inputs: StackInputs, stack: lookups.Row, change: Change) -> Request:
    """Return the whole request that a change of the stack amounts to. It holds for the generation of `stack` alone."""
    if isinstance(change, PastInput):
        generation = change.generation
        past = await inputs.read(lambda connection: history.read(connection, stack, generation))
        return _back(past, stack, generation)
    return change if isinstance(change, Request) else await patched(inputs, stack, change)


def _back(past: StackInput, stack: lookups.Row, generation: int) -> Request:
    """Return the request to go back to a past input. Options of the stack stay as they are."""
    return Request(past.template, past.files, past.environment, bool(stack["disable_rollback"]), stack["timeout_s"],
                   documents.decode_any(stack["tags"]), past.restored, past.secrets, names_of=generation, parts=past.parts)


async def patched(inputs: StackInputs, stack: lookups.Row, patch: Patch) -> Request:
    """Return the whole request that a patch of the stack amounts to. It holds for the generation of `stack` alone."""
    operation = await inputs.operation(stack)
    if patch.template is not None and (operation is None or not operation.input):
        present = StackInput(patch.template, {}, {})  # the stack was rolled back to nothing: there is no input to change
    else:
        present = await inputs.input(stack)
    input_ = await inputs.compute(present.size + len(patch.template or ""), lambda: apply(present, patch))
    return Request(
        input_.template, input_.files, input_.environment,
        bool(stack["disable_rollback"]) if patch.disable_rollback is None else patch.disable_rollback,
        stack["timeout_s"] if patch.timeout_s is None else patch.timeout_s,
        documents.decode_any(stack["tags"]) if patch.tags is None else patch.tags, input_.restored,
        input_.secrets, patch.converge, patch.moved, target=patch.target, exclude=patch.exclude,
    )


def apply(present: StackInput, patch: Patch) -> StackInput:
    """Return the input of the stack after the patch."""
    if patch.existing:
        patch = _with_secrets(present, patch)
    kept = patch.template is None
    files = {**present.files, **patch.files} if kept or patch.existing else dict(patch.files)
    template = present.template if patch.template is None else patch.template
    given = environment.load(patch.environment)
    if patch.existing:
        given = _joined(environment.load(present.environment), given, patch, _parameters_of(template))
    restored = present.restored if kept else {}
    return dataclasses.replace(present, template=template, files=files, environment=given.as_dict(), restored=restored)


def _with_secrets(present: StackInput, patch: Patch) -> Patch:
    """Return the patch with the secrets of the stack in the places where it has their masks."""
    masked = [name for name, text in patch.files.items() if MASK in text and name in present.files]
    template = patch.template if patch.template is not None and MASK in patch.template else None
    if template is None and not masked:
        return patch
    secrets = masking.redactor(present)
    same = {name: present.files[name] for name in masked if patch.files[name] == secrets.text(present.files[name])}
    patch = dataclasses.replace(patch, files={**patch.files, **same})
    if template is None:
        return patch
    sent, before = document.load(template).data, document.load(present.template).data
    whole = unmasked(sent, secrets.value(before), before)
    return patch if whole == sent else dataclasses.replace(patch, template=documents.encode(whole))


def unmasked(sent: Any, shown: Any, before: Any) -> Any:
    """Return sent data with the values of `before` wherever both they, as they were shown, and the sent ones are a mask."""
    if isinstance(sent, Mapping) and isinstance(shown, Mapping):
        return {key: unmasked(one, shown.get(key), before.get(key)) for key, one in sent.items()}
    if isinstance(sent, list) and isinstance(shown, list) and len(sent) == len(shown):
        return [unmasked(*one) for one in zip(sent, shown, before, strict=True)]
    return before if sent == MASK == shown else sent


def _parameters_of(template: str) -> Collection[str]:
    return model.parse(document.load(template)).parameters


def _joined(
    old: environment.Environment, new: environment.Environment, patch: Patch, known: Collection[str]
) -> environment.Environment:
    unknown = [name for name in new.parameters if name not in known]
    if unknown and patch.strict:
        raise errors.UserError(f"The Parameter ({unknown[0]}) was not defined in template.", kind="UnknownUserParameter")
    values = {**{name: value for name, value in old.parameters.items() if name not in patch.clear_parameters},
              **new.parameters}
    return environment.Environment(
        parameters={name: value for name, value in values.items() if name in known and value is not None},
        parameter_defaults={**old.parameter_defaults, **new.parameter_defaults},
        registry=environment.Registry(_registry(old.registry.data, new.registry.data)),
        event_sinks=(*old.event_sinks, *(sink for sink in new.event_sinks if sink not in old.event_sinks)),
        encrypted_param_names=tuple(dict.fromkeys((*old.encrypted_param_names, *new.encrypted_param_names))),
        moved={**old.moved, **new.moved},
    )


def _registry(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    resources = {**old.get("resources", {}), **new.get("resources", {})}
    return {**old, **new, **({"resources": resources} if resources else {})}
