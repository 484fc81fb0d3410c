"""Prepares Heat's rows as ours: the desired state from our own reading of the template, the actual state from the rows.

A resource whose properties, as Heat last applied them, equal those of our reading gets its digest, and no update visits it.
One that differs does not get it, so that the next update visits and compares it.
"""

from __future__ import annotations

from typing import Any

from isotherm import errors
from isotherm.engine import contexts, stored_ports
from isotherm.engine.steps import decide
from isotherm.graph.graph import DependencyTaskGraph
from isotherm.importing import decrypt, heat_inputs, heat_rows, translate
from isotherm.importing.ports import PreparedStack, PreparedStacks
from isotherm.importing.records import HeatObject, ImportedResource, ImportTools, NotImportable, Prepared
from isotherm.importing.translate import Translated
from isotherm.planning import desired, documents, masking, publish, requests
from isotherm.planning.references import PublishedReferences
from isotherm.resources import contract, properties, registry, signal_access
from isotherm.resources.context.signals import Signal
from isotherm.resources.heat.groups import auto_scaling_group
from isotherm.resources.nested import group_base, nested_stack
from isotherm.resources.reality.journal import MemoryReality
from isotherm.resources.validation import custom_constraints
from isotherm.states import Action, DeletionPolicy, NodeState, Status
from isotherm.store.operations.arrive import Arrival
from isotherm.store.records import Acceptance, Input, NewStack, Version, Wanted
from isotherm.store.signals.signals import NewSignal
from isotherm.template import environment

_RULES = properties.Rules(custom=custom_constraints.LOCAL)
# A digest that equals no definition: the next update visits the resource.
_ANOTHER = "~brought-over"


async def prepare(tree: heat_rows.HeatStack, tools: ImportTools) -> Prepared:
    """Prepare a stack tree. Raises NotImportable, or UserError, for what is not understood."""
    preparing = _Preparing(tools)
    stack = _Stack(preparing, tree, heat_inputs.stack_input(tree, tools.decryptor))
    await stack.prepare(validate=True)
    return preparing.prepared


class _Preparing:
    """The preparation of one stack tree."""

    def __init__(self, tools: ImportTools) -> None:
        self.tools = tools
        self.prepared = Prepared()
        self.arriving = PreparedStacks()
        self.reality = MemoryReality()
        self.context = contexts.arriving(tools.clock, self.reality, self.arriving)


class _Stack:
    """The preparation of one stack of the tree."""

    def __init__(self, tree: _Preparing, stack: heat_rows.HeatStack, input_: desired.StackInput) -> None:
        self._tree = tree
        self._tools = tree.tools
        self._stack = stack
        self._input = input_
        self._secrets = masking.redactor(input_)
        self._identity = desired.Identity(stack.name, stack.id, tree.tools.project or stack.project)
        self._versions: list[Version] = []
        self._proven: set[str] = set()
        self._states: dict[str, NodeState] = {}
        self._configs: list[dict[str, Any]] = []
        self._signals: dict[str, list[NewSignal]] = {}
        self._made_at = {row.name: row.created_at for row in stack.resources if not row.replaced}
        self._operation = tree.tools.new_id()

    async def prepare(self, *, validate: bool) -> None:
        goal = desired.desire(self._input, self._identity, self._tools.types, validate=validate)
        ready = self._tree.arriving.stacks[self._stack.id] = PreparedStack(
            self._identity, goal, self._input.template, self._made_at)
        position = len(self._tree.prepared.arrivals)
        wanted = {want.name: want for want in goal.wanted}
        present = {row.name: row for row in self._stack.resources if not row.replaced}
        for name in DependencyTaskGraph[str]({name: want.requires for name, want in wanted.items()}).order():
            await self._prepare_one(ready, wanted[name], present.get(name))
        kept = {id(present[name]) for name in wanted if name in present}
        superseded = [self._superseded(row) for row in self._stack.resources
                      if id(row) not in kept and row.physical_id is not None]
        self._tree.prepared.arrivals.insert(position, self._arrival(goal, superseded))

    async def _prepare_one(self, ready: PreparedStack, want: Wanted, row: heat_rows.HeatResource | None) -> None:
        target = documents.decode(want.definition, documents.Target)
        definition = ready.goal.bound.definitions[want.name]
        type_ = self._tools.types.implementation(target.implementation)
        if not translate.understands(type_):
            raise NotImportable(f"resource {want.name} of {self._stack.name}: what Heat keeps of {definition.type} is not "
                          "understood yet")
        if row is None or row.action == "INIT" or (row.status == "FAILED" and row.physical_id is None):
            # Heat has made no object.
            self._states[want.name] = NodeState.SKIPPED if row is None or row.action == "INIT" else NodeState.FAILED
            return
        inputs = [Input(need, None, ready.published.get(need)) for need in want.requires]
        resolved = definition.resolve(PublishedReferences(inputs, ready.goal.values.__getitem__))
        stored = decide.given(type_, resolved.properties or {}, None)
        after = registry.typed_properties(type_, stored, rules=_RULES)
        item = ImportedResource(row, type_, target, definition, after, self._translated(type_, row))
        resource = self._resource(item, resolved)
        if isinstance(resource, nested_stack.StackResource):
            await self._prepare_nested(resource, item, resolved)
        ready.published[want.name] = await publish.publish(resource, target.exports)
        self._keep(item, want, resolved, ready.published[want.name])

    def _translated(self, type_: type[contract.Resource], row: heat_rows.HeatResource) -> Translated:
        try:
            return translate.translated(type_, row, self._tools.decryptor.data(row), self._tools.heat)
        except decrypt.CannotDecrypt as error:
            raise NotImportable(f"what resource {row.name} of {self._stack.name} keeps cannot be read: {error}") from error
        except ValueError as error:
            raise NotImportable(
                f"what resource {row.name} of {self._stack.name} keeps is not understood: {error}") from error

    def _resource(self, item: ImportedResource, resolved: Any) -> contract.Resource:
        """Return the resource as our types see it, with everything that it can read."""
        row, translated = item.row, item.translated
        if translated.heat_object is not None and row.physical_id is not None:
            made = HeatObject(item.type.TYPE, row.uuid, translated.heat_object, row.physical_id)
            self._tree.prepared.objects.append(made)
            self._tree.reality.objects[row.physical_id] = {"properties": translated.heat_object}
        if translated.config is not None:
            self._tree.arriving.configs[translated.config.id] = translated.config
            self._configs.append(stored_ports.config_row(translated.config))
        kept = [Signal(number + 1, one.key, one.details) for number, one in enumerate(translated.signals)]
        self._tree.arriving.receive([row.uuid, row.physical_id or row.uuid], item.type.TYPE, kept)
        if translated.signals:
            self._signals[row.name] = [
                NewSignal(self._tools.new_id(), one.key, documents.encode(one.details), one.reason)
                for one in translated.signals]
        state = contract.ResourceState(
            name=row.name, stack_name=self._stack.name, stack_id=self._stack.id, token=row.uuid, properties=item.after,
            physical_id=row.physical_id, data=translated.data, metadata=item.metadata(resolved),
            update_policy=resolved.update_policy, exports=item.target.exports)
        resource = item.type(state, self._tree.context)
        if translated.admits:
            signal_access.admit(resource)
        return resource

    async def _prepare_nested(self, resource: nested_stack.StackResource, item: ImportedResource, resolved: Any) -> None:
        """Prepare the nested stack of a resource, from Heat's template where our type would make another one."""
        stack = next((one for one in self._stack.nested if one.id == item.row.physical_id), None)
        if stack is None:
            raise NotImportable(f"resource {item.row.name} of {self._stack.name} is a stack, and that is not there")
        ours = await _child(resource, stack)
        # Heat's template of a group has outputs for attributes that we read in another way.
        read = () if isinstance(resource, group_base.Group) else ("outputs", "conditions")
        if not heat_inputs.same(ours.template, stack.template, ("resources", *read)):
            theirs = heat_inputs.stack_input(stack, self._tools.decryptor)
            values = environment.load(theirs.environment).parameters
            ours = contract.Child(theirs.template, values, exports=ours.exports)
        facade = {"metadata": item.metadata(resolved), "update_policy": resolved.update_policy,
                  "deletion_policy": item.definition.deletion_policy.capitalize()}
        around = masking.OuterResource(item.row.name, item.definition.type, facade)
        input_ = masking.inner(self._input, around, ours, self._tools.types, self._secrets)
        await _Stack(self._tree, stack, input_).prepare(validate=False)

    def _keep(self, item: ImportedResource, want: Wanted, resolved: Any, published: str) -> None:
        row = item.row
        action, status = Action[row.action], Status[row.status]
        applied = self._applied(item)
        if status is Status.FAILED:
            self._states[row.name] = NodeState.FAILED
        elif properties.diff(applied, item.after):
            changed = ", ".join(sorted(properties.diff(applied, item.after)))
            self._tree.prepared.notes.append(
                f"resource {row.name} of {self._stack.name} is not what its template says now ({changed}): the next update "
                "will look at it")
        else:
            self._proven.add(row.name)
        self._versions.append(Version(
            0, self._stack.id, row.name, item.definition.type, item.target.implementation, row.uuid, row.physical_id,
            action, status, row.reason, documents.encode(applied), None if status is Status.FAILED else _ANOTHER,
            documents.encode(item.metadata(resolved)), documents.encode(item.translated.data), published, "[]", None,
            False, want.deletion_policy, resolved.external_id is not None, self._operation, None,
            suspended=action is Action.SUSPEND and status is Status.COMPLETE,
        ))

    def _applied(self, item: ImportedResource) -> dict[str, Any]:
        """Return the properties that Heat last applied, as our type sees them."""
        try:
            return registry.typed_properties(item.type, self._tools.decryptor.properties(item.row))
        except decrypt.CannotDecrypt as error:
            raise NotImportable(f"properties of {item.row.name} of {self._stack.name} cannot be read: {error}") from error

    def _superseded(self, row: heat_rows.HeatResource) -> Version:
        """Return a superseded version; the next operation deletes it."""
        template = self._tools.heat.template(row.template_id) if row.template_id is not None else {}
        resources = template.get("resources") or template.get("Resources") or {}
        one = resources.get(row.name) or {}
        name = one.get("type") or one.get("Type") or ""
        env = environment.load(self._input.environment)
        try:
            type_ = self._tools.types.resolve(name, env, row.name, self._input.files)
        except errors.UserError:
            type_ = contract.Resource
        if not translate.understands(type_) or issubclass(type_, nested_stack.StackResource):
            raise NotImportable(
                f"resource {row.name} of {self._stack.name} has an older version ({name or 'of no known type'}) "
                "that cannot be brought over: update the stack in Heat, so that it is cleaned up there")
        translated = self._translated(type_, row)
        if translated.heat_object is not None and row.physical_id is not None:
            self._tree.prepared.objects.append(HeatObject(type_.TYPE, row.uuid, translated.heat_object, row.physical_id))
        return Version(
            0, self._stack.id, row.name, name, type_.implementation_name(), row.uuid, row.physical_id,
            Action[row.action], Status[row.status], row.reason, documents.encode(self._applied(
                ImportedResource(row, type_, documents.Target(None, ""), None, {}, translated))),
            None, "{}", documents.encode(translated.data), None, "[]", None, True, DeletionPolicy.DELETE, False,
            self._operation, None,
        )

    def _arrival(self, goal: desired.Desired, older: list[Version]) -> Arrival:
        stack = self._stack
        input_key, blobs = requests.stored(self._input)
        action, status = Action[stack.action], Status[stack.status]
        acceptance = Acceptance(
            stack.id, 0, self._operation, action, input_key, stack.disable_rollback, stack.timeout_s,
            documents.encode(list(stack.tags)), blobs, "Brought over from Heat", goal.description)
        new = NewStack(stack.id, self._identity.project, stack.name, True, stack.owner_id, stack.depth, stack.username)
        return Arrival(
            new, acceptance, status, stack.reason, stack.created_at, stack.updated_at, goal.wanted, self._versions, older,
            frozenset(self._proven), self._states, self._configs, self._signals, self._made_at)


async def _child(resource: nested_stack.StackResource, stack: heat_rows.HeatStack) -> contract.Child:
    """Return the nested stack as our type would make it. Members of a scaling group keep the names that Heat gave."""
    if isinstance(resource, auto_scaling_group.AutoScalingGroup):
        return resource.child_of(stack.template.get("resources") or {})
    return await resource.whole() if isinstance(resource, group_base.Group) else resource.child()
