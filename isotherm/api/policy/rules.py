"""The rules of who may do what, under Heat's names and with Heat's defaults, so that an operator's policy file still holds.

Names of rules are `subject:action`. A rule for a type of resource restricts its use in templates; a type that has no rule
may be used by everybody. The defaults are the newer ones of Heat: what a reader or a member of the project may do.
"""

from __future__ import annotations

from oslo_policy import policy

READER = "role:reader and project_id:%(project_id)s"
MEMBER = "role:member and project_id:%(project_id)s"
ADMIN = "role:admin and project_id:%(project_id)s"
READER_OR_MACHINE = f"({READER}) or (role:heat_stack_user and project_id:%(project_id)s)"
ADMIN_TYPE = "rule:project_admin"

BUILDING_BLOCKS = {
    "context_is_admin": ("(role:admin and is_admin_project:True)", "Who may use any project."),
    "project_admin": ("role:admin", "An administrator of some project."),
    "deny_stack_user": ("not role:heat_stack_user", "Everybody but the users that stand for a resource."),
    "deny_everybody": ("!", "Nobody."),
    "allow_everybody": ("", "Everybody."),
}

_STACKS = {
    "abandon": (MEMBER, "Let go of a stack and leave its resources where they are."),
    "create": (MEMBER, "Make a stack."),
    "delete": (MEMBER, "Delete a stack."),
    "detail": (READER, "List stacks with all that a show tells."),
    "export": (MEMBER, "Export a stack."),
    "generate_template": (MEMBER, "Have a template made from a resource type."),
    "global_index": ("rule:deny_everybody", "List the stacks of all projects."),
    "index": (READER, "List stacks."),
    "list_resource_types": (READER, "List the resource types."),
    "list_template_versions": (READER, "List the versions of the template language."),
    "list_template_functions": (READER, "List the functions of a version of the template language."),
    "lookup": (READER_OR_MACHINE, "Find a stack by its name or its id."),
    "preview": (READER, "See what a stack would be, without making it."),
    "resource_schema": (READER, "See the schema of a resource type."),
    "show": (READER, "See a stack."),
    "template": (READER, "See the template of a stack."),
    "environment": (READER, "See the environment of a stack."),
    "files": (READER, "See the files of a stack."),
    "update": (MEMBER, "Update a stack (PUT)."),
    "update_patch": (MEMBER, "Update a stack, keeping what is not given (PATCH)."),
    "update_no_change": ("rule:stacks:update_patch", "Update a stack with what it already has."),
    "preview_update": (MEMBER, "See what an update would do (PUT)."),
    "preview_update_patch": (MEMBER, "See what an update would do (PATCH)."),
    "validate_template": (MEMBER, "Validate a template."),
    "snapshot": (MEMBER, "Take a snapshot of a stack."),
    "show_snapshot": (READER, "See a snapshot."),
    "delete_snapshot": (MEMBER, "Delete a snapshot."),
    "list_snapshots": (READER, "List the snapshots of a stack."),
    "restore_snapshot": (MEMBER, "Take a stack back to a snapshot."),
    "list_outputs": (READER, "List the outputs of a stack."),
    "show_output": (READER, "See an output of a stack."),
}
_ACTIONS = {
    "action": (MEMBER, "Ask for an action on a stack."),
    "snapshot": (MEMBER, "Take a snapshot, by an action."),
    "suspend": (MEMBER, "Put a stack to rest."),
    "resume": (MEMBER, "Wake a stack."),
    "check": (READER, "Ask whether the resources of a stack are still there."),
    "cancel_update": (MEMBER, "Stop an update and go back."),
    "cancel_without_rollback": (MEMBER, "Stop an operation and leave things as they are."),
}
_RESOURCES = {
    "index": (READER, "List the resources of a stack."),
    "metadata": (READER_OR_MACHINE, "Read the metadata of a resource."),
    "signal": (READER_OR_MACHINE, "Signal a resource."),
    "mark_unhealthy": (MEMBER, "Say of a resource that it does not work."),
    "show": (READER, "See a resource."),
}
_EVENTS = {
    "index": (READER, "List the events of a stack."),
    "show": (READER, "See an event."),
}
# Beside Heat's rules.
_DRIFT = {
    "show": (READER, "See what of a stack is not what was made of it."),
    "set": (MEMBER, "Say what is done about drift, and how a stack or a resource is watched."),
    "observe": (MEMBER, "Have the observer look soon: a hint that there may be something to see."),
    "show_project": (READER, "See whether the stacks of the project are watched."),
    "set_project": (MEMBER, "Pause the watching or the repairs of all stacks of the project."),
}
_CONFIGS = {
    "global_index": ("rule:deny_everybody", "List the software configs of all projects."),
    "index": (READER, "List software configs."),
    "create": (MEMBER, "Make a software config."),
    "show": (READER, "See a software config."),
    "delete": (MEMBER, "Delete a software config."),
}
_DEPLOYMENTS = {
    "index": (READER, "List software deployments."),
    "create": (MEMBER, "Make a software deployment."),
    "show": (READER, "See a software deployment."),
    "update": (MEMBER, "Update a software deployment."),
    "delete": (MEMBER, "Delete a software deployment."),
    "metadata": (READER_OR_MACHINE, "Read the deployments of a server."),
}
# Not served here yet; the names are kept so that a file that speaks of them is understood.
_CLOUDFORMATION = {
    **dict.fromkeys(("ListStacks", "DescribeStacks", "DescribeStackEvents", "ValidateTemplate", "GetTemplate",
                     "EstimateTemplateCost", "DescribeStackResources", "ListStackResources"), (READER, "Read, as in AWS.")),
    **dict.fromkeys(("CreateStack", "DeleteStack", "UpdateStack", "CancelUpdateStack"), (MEMBER, "Write, as in AWS.")),
    "DescribeStackResource": (READER_OR_MACHINE, "See a resource, as in AWS."),
}
_ADMIN_TYPES = (
    "OS::Blazar::Host",
    "OS::Cinder::EncryptedVolumeType", "OS::Cinder::QoSAssociation", "OS::Cinder::QoSSpecs", "OS::Cinder::Quota",
    "OS::Cinder::VolumeType",
    "OS::Keystone::*",
    "OS::Manila::ShareType",
    "OS::Neutron::ProviderNet", "OS::Neutron::QoSBandwidthLimitRule", "OS::Neutron::QoSDscpMarkingRule",
    "OS::Neutron::QoSMinimumBandwidthRule", "OS::Neutron::QoSMinimumPacketRateRule", "OS::Neutron::QoSPolicy",
    "OS::Neutron::Quota", "OS::Neutron::Segment",
    "OS::Nova::Flavor", "OS::Nova::HostAggregate", "OS::Nova::Quota",
    "OS::Octavia::AvailabilityZone", "OS::Octavia::AvailabilityZoneProfile", "OS::Octavia::Flavor",
    "OS::Octavia::FlavorProfile", "OS::Octavia::Quota",
)

_BY_SUBJECT = {
    "actions": _ACTIONS,
    "build_info": {"build_info": (READER, "See what version runs.")},
    "cloudformation": _CLOUDFORMATION,
    "drift": _DRIFT,
    "events": _EVENTS,
    "resource": _RESOURCES,
    "resource_types": dict.fromkeys(_ADMIN_TYPES, (ADMIN_TYPE, "Use this type in a template.")),
    "service": {"index": (ADMIN, "List the engines.")},
    "software_configs": _CONFIGS,
    "software_deployments": _DEPLOYMENTS,
    "stacks": _STACKS,
}
TABLE = {**BUILDING_BLOCKS, **{f"{subject}:{action}": told for subject, actions in _BY_SUBJECT.items()
                               for action, told in actions.items()}}


def defaults() -> list[policy.RuleDefault]:
    """The table as oslo.policy wants it; its own tools find it under the name `isotherm`."""
    return [policy.RuleDefault(name, check, description) for name, (check, description) in TABLE.items()]
