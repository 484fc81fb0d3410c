"""All options: name, default, description. The command line reads them once and passes them on as one frozen value.

An option that means the same as one of Heat has Heat's name and stands in Heat's section. Quotas per project are off unless
they are set. The table in `docs/configuration.md` is generated from this module; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

T = TypeVar("T")

MIB = 1024 * 1024
UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class Option:
    """The description of one option. `heat` is Heat's default where it differs from `default`."""

    field: str
    name: str
    default: Any
    help: str
    group: str = "DEFAULT"
    secret: bool = False
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    heat: str = ""


def option(  # noqa: PLR0913 - one keyword per attribute of an option
    default: T, help_: str, *, group: str = "DEFAULT", name: str = "", secret: bool = False, least: int | None = None,
    most: int | None = None, choices: Sequence[str] = (), heat: str = "",
) -> T:
    """Return a dataclass field that carries the description of an option."""
    described = {"help": help_, "group": group, "name": name, "secret": secret, "least": least, "most": most,
            "choices": tuple(choices), "heat": heat}
    found: T = field(default=default, metadata={"option": described}, repr=not secret)
    return found


@dataclass(frozen=True, slots=True)
class Settings:
    """All options."""

    convergence_engine: bool = option(
        True, "The path of new stacks: true for convergence, false for legacy. A stack keeps its path until it is "
        "migrated.")

    # Limits.
    max_stacks_per_tenant: int = option(
        UNLIMITED, "Maximum number of stacks of a project. Nested stacks do not count. -1: no limit.",
        least=-1, heat="512")
    max_resources_per_stack: int = option(
        UNLIMITED, "Maximum number of resources of a stack, including those of its nested stacks. -1: no limit but the "
        "engine's own, two million.", least=-1, heat="1000")
    max_nested_stack_depth: int = option(5, "Maximum depth of nested stacks.", least=0)
    max_template_size: int = option(
        64 * MIB, "Maximum size in bytes of a template, of an environment, of each file, and of anything fetched by URL.",
        least=1, heat="524288")
    max_hidden_size: int = option(
        MIB, "Maximum total length in characters of hidden parameters and write-only values in a template.", least=0)
    max_files_size: int = option(64 * MIB, "Maximum total size in bytes of the files of a request.", least=0)
    max_files: int = option(10_000, "Maximum number of files of a request.", least=0)
    max_json_body_size: int = option(
        16 * MIB, "Maximum size in bytes of the body of an API request.", least=1, heat="1048576")
    max_events_per_stack: int = option(
        UNLIMITED, "Maximum number of events kept per stack. Beyond it the oldest are deleted. -1 or 0: keep all.",
        least=-1, heat="1000")
    max_event_streams_per_project: int = option(
        300, "Maximum number of event streams that the users of a project have open to one process. -1: no limit.",
        least=-1)
    max_event_streams_per_user: int = option(
        100, "Maximum number of event streams that a user has open to one process. -1: no limit.", least=-1)
    max_snapshots_per_stack: int = option(32, "Maximum number of snapshots of a stack. -1: no limit.", least=-1)
    max_operation_history: int = option(
        20, "Number of inputs of a stack that its history keeps, to compare them and to go back to them. 0: none.", least=0)
    max_software_configs_per_tenant: int = option(
        UNLIMITED, "Maximum number of software configs of a project. -1: no limit.", least=-1, heat="4096")
    max_software_deployments_per_tenant: int = option(
        UNLIMITED, "Maximum number of software deployments of a project. -1: no limit.", least=-1, heat="4096")

    # Stacks.
    stack_action_timeout: int = option(
        3600, "Timeout in seconds of an operation whose request names none.", least=1)
    hidden_stack_tags: tuple[str, ...] = option(
        (), "Lists of stacks omit stacks with one of these tags, unless the request asks for hidden stacks.")
    observe_on_update: bool = option(
        False, "Whether every update observes reality first and repairs what differs. A single update asks for this with "
        "`converge`.")
    observe_failure: str = option(
        "fail", "What an observing update does with a resource that cannot be observed. fail: the resource fails. ignore: "
        "the update assumes the last applied state and says so in an event.", choices=("fail", "ignore"))
    enable_stack_abandon: bool = option(True, "Whether stacks can be abandoned and exported.", heat="false")
    enable_stack_adopt: bool = option(True, "Whether stacks can be adopted.", heat="false")

    max_server_name_length: int = option(
        53, "Maximum length of the default name of a server. 0: as long as the default names of other objects.", least=0,
        most=53)
    stack_scheduler_hints: bool = option(
        False, "Whether the schedulers of Nova and Cinder are told which stack and resource a new server or volume belongs "
        "to: heat_root_stack_id, heat_stack_id, heat_stack_name, heat_path_in_stack, heat_resource_name and "
        "heat_resource_uuid. Their filters may use it.")

    mask_hidden_outputs: bool = option(
        True, "Whether outputs that contain a hidden parameter or another secret are masked. false: they are shown, as "
        "Heat shows them, to all who may read the stack.")

    # Parallelism.
    max_parallel_steps_per_project: int = option(
        0, "Maximum number of steps of a project that run at once, over all engines. A resource that waits for the cloud "
        "is not running a step. 0: no limit.", least=0)
    max_parallel_steps: tuple[str, ...] = option(
        (), "Maximum number of steps of a type or a service that run at once in each engine process, for example "
        "OS::Nova::Server=20, OS::Nova=50. A name covers the type itself and all types that begin with it and `::`.")

    max_threads_per_service: int = option(
        16, "Maximum number of blocking calls of resource types that each process runs at once, for each service (OS::Nova "
        "is one). A call that finds no free thread is retried later.", least=1)

    # Plug-ins.
    plugin_dirs: tuple[str, ...] = option(
        (), "Folders with plug-ins: each Python file in them may define resource types, constraints, functions and "
        "lifecycle hooks. Installed packages are found without this option.",
        heat="/usr/lib64/heat,/usr/lib/heat,/usr/local/lib/heat,/usr/local/lib64/heat")

    # Clouds.
    region_name_for_services: str = option(
        "", "The region whose services are called. Not set: the first of the catalogue.")
    endpoint_type: str = option(
        "public", "The interface of the endpoints that are called.", group="clients",
        choices=("public", "internal", "admin", "publicURL", "internalURL", "adminURL"))
    ca_file: str = option("", "The certificates that services of a cloud are verified with. Not set: the system's.",
                          group="clients")
    cert_file: str = option("", "The client certificate that services of a cloud are shown.", group="clients")
    key_file: str = option("", "The key of the client certificate.", group="clients")
    insecure: bool = option(False, "Whether the certificates of services are accepted unseen.", group="clients")
    client_retry_limit: int = option(
        3, "How often a reading call is repeated that does not reach the service, or finds it busy. Calls that change "
        "something are not repeated, because they may have been carried out.", least=0, heat="2")
    client_connect_timeout: float = option(
        5.0, "Timeout in seconds of a connection to a service of a cloud.", group="clients", name="connect_timeout",
        least=0)
    client_request_timeout: float = option(
        60.0, "Timeout in seconds of a call of a service, from the wait for a free place to the last byte.",
        group="clients", name="request_timeout", least=0)
    client_concurrency: int = option(
        30, "Maximum number of calls of a service that one process makes at once, for each endpoint.", group="clients",
        name="max_concurrent_calls", least=1)
    client_rate: float = option(
        0.0, "Maximum number of calls of a service that one process begins in a second, for each endpoint. 0: no limit.",
        group="clients", name="max_calls_per_second", least=0)

    # Fetching.
    template_fetch_timeout: float = option(
        60.0, "Timeout in seconds of fetching a template or a file, from name resolution to the last byte.", least=0)
    allowed_fetch_networks: tuple[str, ...] = option(
        (), "Private networks that may be fetched from, for example 10.1.0.0/16. All other private addresses are refused.")

    # Access of resources to this machine and its network.
    enable_local_resources: str = option(
        "standalone", "Who may use the types Isotherm::Local::* and Isotherm::Http::*, which run commands and call "
        "services with the rights of the engine. standalone: all users, if auth_strategy is "
        "standalone. always: all users. never: no user.", choices=("standalone", "always", "never"))
    local_base_folder: str = option(
        "", "The folder that files and processes of these resources are confined to. Not set: `local` in the home.")

    # The observer.
    observer_interval: float = option(
        60.0, "Seconds between two observations of a resource. A stack may set its own interval.", least=0)
    observer_type_intervals: tuple[str, ...] = option(
        (), "Intervals by type, for example OS::Nova::Server=300. A * at the end covers all types that begin so.")
    observer_jitter: float = option(
        0.1, "Fraction of the interval by which an observation is moved at random, so that load is spread.", least=0,
        most=1)
    observer_rate: float = option(
        50.0, "Maximum number of observing calls per second, over all observers, for each project and type. 0: no limit.",
        least=0)
    observer_batch: int = option(500, "Maximum number of resources observed in one batch.", least=1, most=10_000)
    observer_policy: str = option(
        "report", "What happens on drift if neither the stack nor the resource has a policy.",
        choices=("ignore", "report", "repair"))
    observer_repair_limit: int = option(
        5, "Maximum number of repairs of one resource within observer_repair_window. Beyond it the observer gives the "
        "resource up: something else keeps changing it.", least=1)
    observer_repair_window: float = option(600.0, "Window of observer_repair_limit, in seconds.", least=0)
    observer_repair_rest: float = option(
        3600.0, "Seconds after which a resource that was given up is repaired again. 0: only when its policy is set again.",
        least=0)

    # Secrets.
    auth_encryption_key: str = option(
        "", "The key that encrypts secrets, at least 32 characters. Not set: a key is generated and kept in the home.",
        secret=True)
    auth_encryption_key_ring: tuple[str, ...] = option(
        (), "Older keys. They decrypt what they encrypted; every write encrypts with auth_encryption_key.",
        secret=True)

    # Signals.
    heat_waitcondition_server_url: str = option(
        "", "The base of signal URLs: the address under which servers reach the API. A path of /v1/waitcondition is "
        "ignored. Not set: the address that the API listens on.")
    signal_url_lifetime: int = option(
        30 * 24 * 3600, "Seconds for which a signed signal URL is valid.", least=60)

    # Authentication and policy.
    auth_strategy: str = option(
        "standalone", "How callers authenticate. standalone: with the token in the home. keystone: with a Keystone token.",
        choices=("standalone", "keystone"))
    trusts_delegated_roles: tuple[str, ...] = option(
        (), "The roles that a trust delegates to the service. Empty: all roles of the user.")
    stack_user_domain_id: str = option(
        "", "The domain of Keystone in which stack users are created, by id: users that servers and signal senders log in "
        "as, each for one resource. Not set: stack_user_domain_name.")
    stack_user_domain_name: str = option(
        "", "The domain of stack users, by name. Neither set: there are no stack users, and what needs them fails.")
    stack_domain_admin: str = option("", "The user who is the administrator of the domain of stack users, in that domain.")
    stack_domain_admin_password: str = option("", "The password of that user.", secret=True)
    heat_stack_user_role: str = option("heat_stack_user", "The role of stack users in their projects.")
    guest_auth_url: str = option(
        "", "The address of Keystone for guests of servers. Not set: that at which the service itself "
        "logs in.", group="clients_keystone", name="auth_uri")
    heat_metadata_server_url: str = option(
        "", "The base of the addresses at which guests read metadata: the address under which servers reach the API. Not "
        "set: heat_waitcondition_server_url, or the address that the API listens on.")
    policy_file: str = option(
        "policy.yaml", "Policy rules that differ from the defaults. A relative path is relative to the configuration file.",
        group="oslo_policy")

    # The service.
    bind_host: str = option(
        "127.0.0.1", "The address that the API listens on.", group="heat_api", heat="0.0.0.0")
    bind_port: int = option(8004, "The port that the API listens on. 0: any free port.", group="heat_api", least=0,
                            most=65535)
    page_hosts: tuple[str, ...] = option(
        (), "Host names under which the page is served. Not set: with auth_strategy = standalone those of loopback, "
        "otherwise any.", group="heat_api")
    client_header_timeout: int = option(
        20, "Seconds a client may take to send the headers of a request.", group="heat_api", least=1)
    client_body_timeout: int = option(
        30, "Seconds a client may take to send the body of a request, plus one for each KiB; and seconds it may leave a "
        "response unread.", group="heat_api", least=1)
    keep_alive_timeout: int = option(
        75, "Seconds an idle connection is kept open for the next request. Clients of Heat poll for events every 5 "
        "seconds, so a value near 5 closes connections that are about to be used.", group="heat_api", least=1)
    max_connections: int = option(
        4096, "Maximum number of connections of an API process. A quarter of the file descriptors of the process is always "
        "kept free. At the limit, a new connection replaces one that sends nothing.",
        group="heat_api", least=1)
    max_connections_per_peer: int = option(
        2048, "Maximum number of connections from one address. A proxy is one address.", group="heat_api", least=1)
    api_workers: int = option(
        0, "Number of processes of `isotherm api`, under a supervisor that replaces dead ones. 0: one, unsupervised.",
        group="heat_api", name="workers", least=0, heat="0, which means one for each processor")
    num_engine_workers: int = option(
        0, "Number of processes of `isotherm engine`, under a supervisor that replaces dead ones. 0: one, unsupervised.",
        least=0, heat="one for each processor, at least 4")
    database_connection: str = option(
        "", "The database, as a URL. Not set: a SQLite file in the home.", group="database", name="connection", secret=True)
    transport_url: str = option(
        "", "The message broker over which processes send each other hints: rabbit://user:password@host:5672/vhost, "
        "several hosts separated by commas. amqp:// is the same, amqps:// uses TLS. Not set: processes poll the database.",
        secret=True, heat="rabbit://")
    engine_concurrency: int = option(
        1000, "Maximum number of steps that one engine runs at once. A resource that waits for the cloud is not running a "
        "step.", least=1)

    # Notifications and webhooks.
    notification_driver: str = option(
        "", "How notifications about stacks are sent. messagingv2, messaging: over the broker, with or without the "
        "envelope of oslo.messaging. noop, or not set: not at all.", group="oslo_messaging_notifications", name="driver",
        choices=("", "noop", "messaging", "messagingv2"))
    notification_topics: tuple[str, ...] = option(
        ("notifications",), "The topics of notifications. The queue of each is the topic and the priority: "
        "notifications.info, notifications.error.", group="oslo_messaging_notifications", name="topics")
    notification_transport_url: str = option(
        "", "The broker of notifications. Not set: transport_url.", group="oslo_messaging_notifications",
        name="transport_url", secret=True)
    control_exchange: str = option("heat", "The exchange of notifications.")
    amqp_durable_queues: bool = option(
        False, "Whether the exchange and the queues of notifications are created durable, where they are missing. As they "
        "are otherwise: they are never created anew.", group="oslo_messaging_rabbit")
    default_notification_level: str = option(
        "INFO", "The priority of notifications. Those of failures have ERROR.",
        choices=("DEBUG", "INFO", "WARN", "ERROR", "CRITICAL"))
    default_publisher_id: str = option(
        "", "The publisher of notifications. Not set: `orchestration.` and the name of the host.")
    webhook_urls: tuple[str, ...] = option(
        (), "URLs that are called when an operation ends or fails, drift is seen, or a repair is given up.",
        group="webhooks", name="urls", secret=True)
    webhook_secret: str = option(
        "", "The key with which calls are signed, at least 16 characters. URLs need it.", group="webhooks", name="secret",
        secret=True)
    webhook_events: tuple[str, ...] = option(
        ("operation.ended", "operation.failed", "drift.seen", "repair.given_up"), "The events that are called about.",
        group="webhooks", name="events")
    webhook_networks: tuple[str, ...] = option(
        (), "Private networks that may be called, for example 10.1.0.0/16. All other private addresses are refused.",
        group="webhooks", name="allowed_networks")
    webhook_timeout: float = option(
        10.0, "Timeout in seconds of a call.", group="webhooks", name="timeout", least=0, most=20)
    webhook_attempts: int = option(
        10, "How often a call is tried, with pauses that double from 1 second to 5 minutes. Then it is dropped, with a "
        "warning in the log.", group="webhooks", name="attempts", least=1)

    # Logs and metrics.
    debug: bool = option(False, "Whether to log at level DEBUG.")
    use_json: bool = option(True, "Whether each log line is a JSON object. false: text.", heat="false")
    log_file: str = option(
        "", "The log file. Not set: standard error; for `isotherm up`, engine.log in the home.")
    metrics: bool = option(True, "Whether the API serves /metrics, without authentication.", group="observability")
    metrics_host: str = option(
        "127.0.0.1", "The address at which `isotherm engine` and `isotherm observer` serve /metrics and health checks, "
        "without authentication.", group="observability")
    metrics_port: int = option(
        0, "The port of that address; engines and observers of one host need different ones. 0: they serve none.",
        group="observability", least=0, most=65535)

    @property
    def tolerates_unseen(self) -> bool:
        """Return whether an update continues with a resource that cannot be observed."""
        return self.observe_failure == "ignore"

    #: The configuration files, in the order they were read. Libraries read their own sections from them.
    config_files: tuple[str, ...] = ()


def options() -> list[Option]:
    """Return all options in the order of their definition."""
    return [_option(one.name, one.default, one.metadata["option"]) for one in fields(Settings) if one.metadata]


def _option(attribute: str, default: object, described: dict[str, Any]) -> Option:
    return Option(attribute, described["name"] or attribute, default, described["help"], described["group"],
                  described["secret"], described["least"], described["most"], described["choices"], described["heat"])
