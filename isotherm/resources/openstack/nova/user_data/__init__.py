"""The user data of servers in all its formats.

`server_user_data` chooses what a server gets. `message` puts parts together as cloud-init takes them, `boot_parts` has the
parts that prepare a guest for heat-cfntools, and `ignition` adds files to the user data of Ignition.
"""
