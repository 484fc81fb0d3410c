"""The real Heat, which evaluates the templates of the compat corpus one case at a time.

Runs in an environment of its own that holds PyPI's `openstack-heat`; imports Heat, never Isotherm, so that the two
sides share nothing but the questions. Reads one JSON case a line from standard input, writes one JSON answer a line.

The steps are those of Heat's engine when it is asked for a new stack, in the same order (parse, merge environments,
structure, definitions, validation), so the *first* error is the one its users see. No database, no service, no network:
a stack without an id never touches one. After validation every resource is declared created, with the reference ids and
attribute values that the case gives, and everything is resolved once more.
"""

import json
import logging
import sys
import types
import warnings

from oslo_config import cfg
from oslo_serialization import jsonutils
from oslo_service import backend

# Heat refuses to load before a threading backend is chosen.
backend.init_backend(backend.BackendType.THREADING)

from heat.common import context as heat_context  # noqa: E402
from heat.common import (  # noqa: E402
    environment_format,
    environment_util,
    exception,
    template_format,
)
from heat.engine import attributes as heat_attributes  # noqa: E402
from heat.engine import environment, function, node_data, stk_defn  # noqa: E402
from heat.engine import stack as heat_stack  # noqa: E402
from heat.engine import template as heat_template  # noqa: E402

STACK_NAME = "corpus"
PROJECT = "project-1"


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    cfg.CONF([], project="heat", default_config_files=[])
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line)), sort_keys=True, default=repr) + "\n")
        sys.stdout.flush()


def answer(case):
    try:
        stack = accept(case)
        pretend_created(stack, case.get("references", {}), case.get("unborn", ()))
        return describe(stack)
    except Exception as problem:  # noqa: BLE001 - every error of Heat is its answer
        return {"error": described(problem)}


def accept(case):
    """Do what the API and the engine do with a request for a new stack."""
    files = dict(case.get("files", {}))
    # Both layers parse text: the API's parse makes the errors that users see.
    body = carried(template_format.parse(case["template"]))
    params = environment_format.parse(case["environment"]) if "environment" in case else {}
    environment_format.default_for_missing(params)
    params["parameters"].update(case.get("parameters", {}))
    params = carried(params)
    template = heat_template.Template(body, files=files)
    names = [f"env{n}.yaml" for n, _ in enumerate(case.get("environments", ()))]
    files.update(zip(names, case.get("environments", ()), strict=True))
    environment_util.merge_environments(names, files, params, template.all_param_schemata(files))
    template.env = environment.Environment(params)
    check_structure(template)
    stack = heat_stack.Stack(request_context(), case.get("stack_name", STACK_NAME), template,
                             strict_validate=not case.get("lenient", False))
    stack.defn._zones = case.get("zones", ["zone-a", "zone-b"])
    if "facade" in case:
        stack.defn._parent_info = facade(case["facade"])
    stack.defn.all_resource_types()  # the type policy is checked here, and makes definitions parse
    stack.validate(validate_res_tmpl_only=case.get("lenient", False))
    return stack


def carried(data):
    """Return the data as it arrives at the engine: parsed by the API and sent as JSON, where keys are text."""
    return jsonutils.loads(jsonutils.dumps(data))


def check_structure(template):
    try:
        template.validate()
    except AssertionError:
        raise
    except Exception as problem:
        raise exception.StackValidationFailed(message=str(problem)) from problem


def request_context():
    return heat_context.RequestContext.from_dict({
        "tenant_id": PROJECT, "tenant": "project", "username": "user", "user_id": "user-1", "password": "",
        "roles": [], "is_admin": False, "auth_url": "http://identity.invalid", "auth_token": "token",
    })


def facade(given):
    """Return the resource of the parent stack for `resource_facade`."""
    definition = types.SimpleNamespace(
        metadata=lambda: given.get("metadata", {}), deletion_policy=lambda: given.get("deletion_policy", "Delete"),
        _update_policy=given.get("update_policy", {}), update_policy=lambda *_: given.get("update_policy", {}))
    return types.SimpleNamespace(name="parent", t=definition, metadata_get=lambda: given.get("metadata", {}))


class KnownAttributes(dict):
    """Attribute values of a created resource; a path into a value is followed as Heat's resources do."""

    def __missing__(self, key):
        if isinstance(key, tuple):
            return heat_attributes.select_from_attribute(self.get(key[0]), key[1:])
        return None


def pretend_created(stack, references, unborn):
    for name in stack.defn.enabled_rsrc_names():
        if name in unborn:
            continue
        known = references.get(name, {})
        data = node_data.NodeData(None, name, None, known.get("id", f"{name}-id"),
                                  KnownAttributes(known.get("attributes", {})), "CREATE", "COMPLETE")
        stk_defn.update_resource_data(stack.defn, name, data)


def describe(stack):
    names = sorted(stack.defn.enabled_rsrc_names())
    found = stack.t.conditions(stack)
    return {
        "parameters": {name: parameter(stack.parameters, name) for name in stack.parameters},
        "conditions": {name: attempt(found.is_enabled, name) for name in sorted(condition_names(stack))},
        "definitions": {name: definition(stack, stack.defn.resource_definition(name)) for name in names},
        "outputs": {name: output(stack.defn.output_definition(name))
                    for name in sorted(stack.defn.enabled_output_names())},
    }


def condition_names(stack):
    section = getattr(stack.t, "CONDITIONS", None)
    return (section and stack.t.t.get(section)) or {}


def parameter(parameters, name):
    found = parameters.params[name]
    return {"value": attempt(found.value), "text": attempt(lambda: str(found)), "hidden": bool(found.hidden())}


def definition(stack, found):
    return {
        "type": found.resource_type,
        "properties": attempt(function.resolve, found._properties),
        "metadata": attempt(found.metadata),
        "update_policy": attempt(function.resolve, found._update_policy),
        "deletion_policy": found.deletion_policy(),
        "external_id": attempt(found.external_id),
        "description": found.description,
        "depends": attempt(lambda: sorted(other.name for other in found.dependencies(stack))),
        "needs": attempt(needs, found, stack),
        "converted": attempt(converted, stack, found),
    }


def needs(found, stack):
    """Return the attributes that it reads: [resource, attribute, path...]; [resource, "*"] is all of them."""
    read = set()
    for name in stack.defn.enabled_rsrc_names():
        for attribute in found.dep_attrs(name):
            read.add((name, *(attribute if isinstance(attribute, tuple) else (attribute,))))
    return sorted(map(list, read), key=json.dumps)


def converted(stack, found):
    """Return the properties as the resource's handler would get them, without unset ones."""
    values = stack[found.name].properties
    return {name: value for name in values if (value := values[name]) is not None}


def output(found):
    return {"value": attempt(found.get_value), "description": found.description(),
            "depends": sorted(found.required_resource_names())}


def attempt(call, *arguments):
    """Return a value, or the error in its place: one bad part must not hide the others."""
    try:
        value = call(*arguments)
    except Exception as problem:  # noqa: BLE001 - every error of Heat is its answer
        return {"!error": described(problem)}
    return plain(value)


def plain(value):
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):  # yaql makes them; JSON has none
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return {"!data": repr(value)}


def described(problem):
    return {"kind": type(problem).__name__, "message": str(problem)}


if __name__ == "__main__":
    main()
