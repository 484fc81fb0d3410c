"""Names that the modules of OS::Nova::Server share: properties, their values, and the microversions of Nova."""

from __future__ import annotations

NAME, IMAGE, FLAVOR, KEY, METADATA, TAGS = "name", "image", "flavor", "key_name", "metadata", "tags"
NETWORKS, GROUPS = "networks", "security_groups"
NETWORK, SUBNET, PORT, FIXED_IP, FLOATING_IP = "network", "subnet", "port", "fixed_ip", "floating_ip"
ALLOCATE, EXTRA, NIC_TAG = "allocate_network", "port_extra_properties", "tag"
DEVICES, DEVICES_V2 = "block_device_mapping", "block_device_mapping_v2"
USER_DATA, FORMAT, PERSONALITY = "user_data", "user_data_format", "personality"
RAW, CFNTOOLS, SOFTWARE_CONFIG = "RAW", "HEAT_CFNTOOLS", "SOFTWARE_CONFIG"
TRANSPORT, SWIFT = "software_config_transport", "deployment_swift_data"
ADMIN_PASS, HINTS, RESERVATION = "admin_pass", "scheduler_hints", "reservation_id"
IMAGE_POLICY, FLAVOR_POLICY, USER_DATA_POLICY = "image_update_policy", "flavor_update_policy", "user_data_update_policy"
REPLACE, RESIZE, IGNORE = "REPLACE", "RESIZE", "IGNORE"
REBUILD, REBUILD_PRESERVE = "REBUILD", "REBUILD_PRESERVE_EPHEMERAL"

TASK, DISK_CONFIG = "OS-EXT-STS:task_state", "OS-DCF:diskConfig"


def microversion(version: str) -> dict[str, str]:
    """Return the header that asks Nova for a microversion."""
    return {"OpenStack-API-Version": f"compute {version}"}


# The last one in which a server shows the id of its flavor.
SHOWN = microversion("2.46")
# The first one whose POST takes tags: the token is one.
CREATED = microversion("2.52")
# The first one in which a device has a volume type. Files (`personality`) are refused from 2.57 on.
CREATED_WITH_VOLUME_TYPE = microversion("2.67")
# The first one that gives a rebuilt server other user data.
REBUILT_WITH_USER_DATA = microversion("2.57")
# The first one that tags an interface which is attached.
ATTACHED = microversion("2.49")
