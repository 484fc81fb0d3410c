"""The default policy rules, with Heat's names and Heat's current defaults, so that a policy file of Heat still works.

Names are `subject:action`. A rule for a resource type restricts its use in templates; a type without a rule is open to
every user.
"""

from __future__ import annotations

from oslo_policy import policy

READER = "role:reader and project_id:%(project_id)s"
MEMBER = "role:member and project_id:%(project_id)s"
ADMIN = "role:admin and project_id:%(project_id)s"
READER_OR_MACHINE = f"({READER}) or (role:heat_stack_user and project_id:%(project_id)s)"
ADMIN_TYPE = "rule:project_admin"

BUILDING_BLOCKS = {
    "context_is_admin": ("(role:admin and is_admin_project:True)", "An administrator of all projects."),
    "project_admin": ("role:admin", "An administrator of some project."),
    "deny_stack_user": ("not role:heat_stack_user", "All users except stack users."),
    "deny_everybody": ("!", "No user."),
    "allow_everybody": ("", "All users."),
}

_STACKS = {
    "abandon": (MEMBER, "Abandon a stack and leave its resources in place."),
    "create": (MEMBER, "Create a stack."),
    "delete": (MEMBER, "Delete a stack."),
    "detail": (READER, "List stacks with all fields."),
    "export": (MEMBER, "Export a stack."),
    "generate_template": (MEMBER, "Generate a template from a resource type."),
    "global_index": ("rule:deny_everybody", "List the stacks of all projects."),
    "index": (READER, "List stacks."),
    "list_resource_types": (READER, "List the resource types."),
    "list_template_versions": (READER, "List the versions of the template language."),
    "list_template_functions": (READER, "List the functions of a version of the template language."),
    "lookup": (READER_OR_MACHINE, "Find a stack by its name or its id."),
    "preview": (READER, "Preview a stack without creating it."),
    "resource_schema": (READER, "Show the schema of a resource type."),
    "show": (READER, "Show a stack."),
    "template": (READER, "Show the template of a stack."),
    "environment": (READER, "Show the environment of a stack."),
    "files": (READER, "Show the files of a stack."),
    "update": (MEMBER, "Update a stack (PUT)."),
    "update_patch": (MEMBER, "Update a stack and keep what is not given (PATCH)."),
    "update_no_change": ("rule:stacks:update_patch", "Update a stack without changes (PATCH)."),
    "preview_update": (MEMBER, "Preview an update (PUT)."),
    "preview_update_patch": (MEMBER, "Preview an update (PATCH)."),
    "validate_template": (MEMBER, "Validate a template."),
    "snapshot": (MEMBER, "Take a snapshot of a stack."),
    "show_snapshot": (READER, "Show a snapshot."),
    "delete_snapshot": (MEMBER, "Delete a snapshot."),
    "list_snapshots": (READER, "List the snapshots of a stack."),
    "restore_snapshot": (MEMBER, "Restore a stack from a snapshot."),
    "list_outputs": (READER, "List the outputs of a stack."),
    "show_output": (READER, "Show an output of a stack."),
    # Rules that Heat does not have.
    "summary": (READER, "Show the head of a stack: counts, operation, first failure, drift."),
    "summaries": (READER, "List stacks by need of attention."),
    "graph": (READER, "Show the graph of a stack in groups."),
    "members": (READER, "Page through the resources of a stack or of a group."),
    "operations": (READER, "List the operations of a stack."),
    "timeline": (READER, "Show when the resources of an operation began and ended."),
    "history": (READER, "List the inputs that a stack had, and compare two of them."),
    "live": (READER, "Follow the changes of a stack."),
    "plan": (READER, "Plan the creation of a stack."),
    "plan_update": (MEMBER, "Plan an update."),
    "plan_restore": (MEMBER, "Plan the restore of a snapshot."),
    "import": (MEMBER, "Import existing objects into a stack."),
    "plan_import": (MEMBER, "Show what an import would take in."),
    "import_template": (MEMBER, "Write a template from existing objects."),
    "problems": (MEMBER, "List all problems of a template."),
    "forget": (MEMBER, "Forget a stack and leave its objects in place."),
}
_ACTIONS = {
    "action": (MEMBER, "Run an action on a stack."),
    "snapshot": (MEMBER, "Take a snapshot by an action."),
    "suspend": (MEMBER, "Suspend a stack."),
    "resume": (MEMBER, "Resume a suspended stack."),
    "check": (READER, "Check that the resources of a stack exist."),
    "cancel_update": (MEMBER, "Cancel an update and roll back."),
    "cancel_without_rollback": (MEMBER, "Cancel an operation without rollback."),
    "retry": (MEMBER, "Go on with what failed or was left out. Heat does not have it."),
    "roll_back": (MEMBER, "Roll back to the last complete operation, or to a past input. Heat does not have it."),
}
_RESOURCES = {
    "index": (READER, "List the resources of a stack."),
    "metadata": (READER_OR_MACHINE, "Read the metadata of a resource."),
    "signal": (READER_OR_MACHINE, "Signal a resource."),
    "mark_unhealthy": (MEMBER, "Mark a resource unhealthy."),
    "show": (READER, "Show a resource."),
    "why": (READER, "Explain the state of a resource. Heat does not have it."),
    "forget": (MEMBER, "Forget a resource and leave its object in place. Heat does not have it."),
    "move": (MEMBER, "Move a resource to another stack of the project. Heat does not have it."),
}
_EVENTS = {
    "index": (READER, "List the events of a stack."),
    "show": (READER, "Show an event."),
}
# Rules that Heat does not have.
_DRIFT = {
    "show": (READER, "Show the drift of a stack or a resource."),
    "set": (MEMBER, "Set the drift policy, interval or mode of a stack or a resource."),
    "repair": (MEMBER, "Repair what has drifted."),
    "observe": (MEMBER, "Ask the observer to observe a stack or a resource soon."),
    "show_project": (READER, "Show the observation mode of the project."),
    "set_project": (MEMBER, "Set the observation mode of the project."),
}
_PROTECTION = {
    "show": (READER, "Show what a stack and its resources are protected from."),
    "set": (MEMBER, "Protect a stack or a resource."),
    "lift": (MEMBER, "Lift the protection of a stack or a resource."),
}
_CONFIGS = {
    "global_index": ("rule:deny_everybody", "List the software configs of all projects."),
    "index": (READER, "List software configs."),
    "create": (MEMBER, "Create a software config."),
    "show": (READER, "Show a software config."),
    "delete": (MEMBER, "Delete a software config."),
}
_DEPLOYMENTS = {
    "index": (READER, "List software deployments."),
    "create": (MEMBER, "Create a software deployment."),
    "show": (READER, "Show a software deployment."),
    "update": (MEMBER, "Update a software deployment."),
    "delete": (MEMBER, "Delete a software deployment."),
    "metadata": (READER_OR_MACHINE, "Read the deployment metadata of a server."),
}
# Not served; the names are kept so that a policy file of Heat is valid.
_CLOUDFORMATION = {
    **dict.fromkeys(("ListStacks", "DescribeStacks", "DescribeStackEvents", "ValidateTemplate", "GetTemplate",
                     "EstimateTemplateCost", "DescribeStackResources", "ListStackResources"), (READER, "Read, as in AWS.")),
    **dict.fromkeys(("CreateStack", "DeleteStack", "UpdateStack", "CancelUpdateStack"), (MEMBER, "Write, as in AWS.")),
    "DescribeStackResource": (READER_OR_MACHINE, "Show a resource, as in AWS."),
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
    "build_info": {"build_info": (READER, "Show the version of the service.")},
    "cloudformation": _CLOUDFORMATION,
    "drift": _DRIFT,
    "events": _EVENTS,
    "protection": _PROTECTION,
    "resource": _RESOURCES,
    "resource_types": dict.fromkeys(_ADMIN_TYPES, (ADMIN_TYPE, "Use this type in a template.")),
    "service": {"index": (ADMIN, "List the engines.")},
    "software_configs": _CONFIGS,
    "software_deployments": _DEPLOYMENTS,
    "stacks": _STACKS,
}
TABLE = {**BUILDING_BLOCKS, **{f"{subject}:{action}": rule for subject, actions in _BY_SUBJECT.items()
                               for action, rule in actions.items()}}


def defaults() -> list[policy.RuleDefault]:
    """Return the table for oslo.policy's tools, which find it under the name `isotherm`."""
    return [policy.RuleDefault(name, check, description) for name, (check, description) in TABLE.items()]
