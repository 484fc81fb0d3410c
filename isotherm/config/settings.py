"""Every option, once: what it is called, its default, what it is for. Read at the edge, passed inwards as one frozen value.

Options have the names, and stand in the sections, that Heat gives them where they mean the same. Limits on how many
things somebody may have are off unless they are set: a folder of one's own needs none. `docs/configuration.md` lists
what is here, and a test holds the two together.
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
    """What is known of an option besides its value. `heat` is Heat's own default where ours differs from it."""

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


def option(  # noqa: PLR0913 - all that can be said of an option, by name
    default: T, help_: str, *, group: str = "DEFAULT", name: str = "", secret: bool = False, least: int | None = None,
    most: int | None = None, choices: Sequence[str] = (), heat: str = "",
) -> T:
    told = {"help": help_, "group": group, "name": name, "secret": secret, "least": least, "most": most,
            "choices": tuple(choices), "heat": heat}
    found: T = field(default=default, metadata={"option": told}, repr=not secret)
    return found


@dataclass(frozen=True, slots=True)
class Settings:
    """All options."""

    convergence_engine: bool = option(
        True, "Which architecture new stacks are made for. A stack keeps the one it was made with.")

    # How much one may ask for.
    max_stacks_per_tenant: int = option(
        UNLIMITED, "How many stacks a project may have, not counting those inside others; -1: any number.",
        least=-1, heat="512")
    max_resources_per_stack: int = option(
        UNLIMITED, "How many resources a stack may have, with those of all stacks inside it; -1: as many as the engine "
        "can take, which is two million.", least=-1, heat="1000")
    max_nested_stack_depth: int = option(5, "How many stacks may stand inside one another.", least=0)
    max_template_size: int = option(
        64 * MIB, "How many bytes a template may have; so an environment, each of the files, and whatever is fetched.",
        least=1, heat="524288")
    max_hidden_size: int = option(
        MIB, "How many characters the values of all hidden parameters of a stack may have together.", least=0)
    max_files_size: int = option(64 * MIB, "How many bytes all files of a request may have together.", least=0)
    max_files: int = option(10_000, "How many files a request may have.", least=0)
    max_json_body_size: int = option(
        16 * MIB, "How many bytes the body of a request to the API may have.", least=1, heat="1048576")
    max_events_per_stack: int = option(
        UNLIMITED, "How many events of a stack are kept: when there are more, the oldest go; -1 or 0: all are kept.",
        least=-1, heat="1000")
    max_event_streams_per_project: int = option(
        300, "How many streams of events the users of a project may read at once from one process; -1: any number.",
        least=-1)
    max_event_streams_per_user: int = option(
        100, "How many streams of events a user may read at once from one process; -1: any number.", least=-1)
    max_snapshots_per_stack: int = option(32, "How many snapshots a stack may have; -1: any number.", least=-1)
    max_software_configs_per_tenant: int = option(
        UNLIMITED, "How many software configs a project may have; -1: any number.", least=-1, heat="4096")
    max_software_deployments_per_tenant: int = option(
        UNLIMITED, "How many software deployments a project may have; -1: any number.", least=-1, heat="4096")

    # Stacks.
    stack_action_timeout: int = option(
        3600, "How many seconds an operation may take when the request does not say.", least=1)
    hidden_stack_tags: tuple[str, ...] = option(
        (), "Stacks with one of these tags are left out of lists unless they are asked for.")
    observe_on_update: bool = option(
        False, "Whether every update looks at reality before it decides, and changes what differs from it. One update can "
        "ask for it by itself (`converge`).")
    observe_failure: str = option(
        "fail", "What an update that looks at reality does with a resource that cannot be looked at: fail, or ignore that, "
        "say so, and take it for what was last applied.", choices=("fail", "ignore"))
    enable_stack_abandon: bool = option(True, "Whether stacks can be abandoned and exported.", heat="false")
    enable_stack_adopt: bool = option(True, "Whether stacks can be adopted.", heat="false")

    # How much is done at once.
    max_parallel_steps_per_project: int = option(
        0, "How many steps a project may have under way at once, on all engines together; 0: any number. What waits for "
        "the world is no step.", least=0)
    max_parallel_steps: tuple[str, ...] = option(
        (), "How many steps of a type, or of a service, each engine process may have under way at once: as "
        "OS::Nova::Server=20, OS::Nova=50. A name stands for itself and for all types that begin with it and `::`.")

    max_threads_per_service: int = option(
        16, "How many calls of resource types with blocking methods each process may have under way at once, for each "
        "service (OS::Nova is one). A call that finds no thread is tried again later.", least=1)

    # Fetching.
    template_fetch_timeout: float = option(
        60.0, "How many seconds fetching a template or a file may take, from the first look-up to the last byte.", least=0)
    allowed_fetch_networks: tuple[str, ...] = option(
        (), "Networks (such as 10.1.0.0/16) that may be fetched from although they are private; no others are.")

    # What resources may reach of this machine and its network.
    enable_local_resources: str = option(
        "standalone", "Whether templates may have resources of the types Isotherm::Local::* and Isotherm::Http::*, which "
        "run commands and call services with the rights of the engine: where all callers are known by a token in the "
        "folder (standalone), for all callers (always), or never.", choices=("standalone", "always", "never"))
    local_base_folder: str = option(
        "", "The folder that files and processes of such resources are confined to. Not set: `local` in the folder.")

    # Looking at what is there.
    observer_interval: float = option(
        60.0, "How many seconds pass between two looks of the observer at a resource; a stack may have its own.", least=0)
    observer_type_intervals: tuple[str, ...] = option(
        (), "The same for types: as OS::Nova::Server=300, with a * at the end for all that begin so.")
    observer_jitter: float = option(
        0.1, "By which part of the interval a look may be earlier or later, so that not all come at once.", least=0, most=1)
    observer_rate: float = option(
        50.0, "How many calls in a second all observers together make to look, for each project and type; 0: any number.",
        least=0)
    observer_batch: int = option(500, "How many resources are looked at in one go.", least=1, most=10_000)
    observer_policy: str = option(
        "report", "What follows on drift where neither stack nor resource says it.", choices=("ignore", "report", "repair"))
    observer_repair_limit: int = option(
        5, "How often one resource is repaired within observer_repair_window. Then somebody else is taken to be at work "
        "on it, and it is left alone.", least=1)
    observer_repair_window: float = option(600.0, "How many seconds that counts.", least=0)
    observer_repair_rest: float = option(
        3600.0, "After how many seconds a resource that was given up is repaired again; 0: when somebody says so.", least=0)

    # Secrets.
    auth_encryption_key: str = option(
        "", "The key that secrets are encrypted with, 32 characters. Not set: one is made, and kept in the folder.",
        secret=True)
    auth_encryption_key_ring: tuple[str, ...] = option(
        (), "Older keys: what was encrypted with them can still be read, and is encrypted anew when it is written.",
        secret=True)

    # Signals.
    heat_waitcondition_server_url: str = option(
        "", "The address under which servers reach the API, for URLs that take signals; a path of /v1/waitcondition is "
        "left out. Not set: the address that the API listens on.")
    signal_url_lifetime: int = option(
        30 * 24 * 3600, "How many seconds a URL is good that takes signals without a token.", least=60)

    # Who may do what.
    auth_strategy: str = option(
        "standalone", "How callers are known: by a token in the folder, or by Keystone.",
        choices=("standalone", "keystone"))
    trusts_delegated_roles: tuple[str, ...] = option(
        (), "The roles that the service is lent to go on with a stack when its user has gone; none: all that the user has.")
    policy_file: str = option(
        "policy.yaml", "Rules that differ from the defaults; relative to the file that names it.", group="oslo_policy")

    # The service.
    bind_host: str = option(
        "127.0.0.1", "The address that the API listens on.", group="heat_api", heat="0.0.0.0")
    bind_port: int = option(8004, "The port that the API listens on; 0: any that is free.", group="heat_api", least=0,
                            most=65535)
    client_header_timeout: int = option(
        20, "How many seconds a client may take to send the headers of a request.", group="heat_api", least=1)
    client_body_timeout: int = option(
        30, "How many seconds a client may take to send the body of a request, and one more for each KiB of it; and how "
        "long it may leave an answer unread.", group="heat_api", least=1)
    keep_alive_timeout: int = option(
        75, "Seconds an idle connection is kept open for the next request. Clients of Heat poll for events every 5 "
        "seconds, so a value near 5 closes connections that are about to be used.", group="heat_api", least=1)
    max_connections: int = option(
        4096, "How many connections a process of the API has at a time. At most so many that a quarter of the descriptors "
        "that the process may open are left. When there are more, those make room first that send nothing.",
        group="heat_api", least=1)
    max_connections_per_peer: int = option(
        2048, "How many of them one address may have. A proxy is one address.", group="heat_api", least=1)
    api_workers: int = option(
        0, "How many processes `isotherm api` runs, under a parent that replaces those that die; 0: one, and no parent.",
        group="heat_api", name="workers", least=0, heat="0, which means one for each processor")
    num_engine_workers: int = option(
        0, "How many processes `isotherm engine` runs, under a parent that replaces those that die; 0: one, and no parent.",
        least=0, heat="one for each processor, at least 4")
    database_connection: str = option(
        "", "The database, as a URL. Not set: a file in the folder.", group="database", name="connection", secret=True)
    transport_url: str = option(
        "", "The broker that processes tell each other by what to look at: rabbit://user:password@host:5672/vhost, several "
        "hosts with commas between; amqp:// is the same, amqps:// is with TLS. Not set: each looks by itself.",
        secret=True, heat="rabbit://")
    engine_concurrency: int = option(
        1000, "How many steps one engine has under way at once. What waits for the world is no step.", least=1)

    # Looking at it.
    debug: bool = option(False, "Whether to log what only helps to find a defect.")
    use_json: bool = option(True, "Whether each line of the log is a JSON object, or text for people.", heat="false")
    log_file: str = option(
        "", "Where the log goes. Not set: to the standard error output; of `isotherm up`, to engine.log in the folder.")
    metrics: bool = option(True, "Whether /metrics answers, to whoever can reach the API.", group="observability")

    @property
    def tolerates_unseen(self) -> bool:
        return self.observe_failure == "ignore"

    #: The files that all this was read from. Other libraries read their own sections there.
    config_files: tuple[str, ...] = ()


def options() -> list[Option]:
    """All of them, in the order in which they stand above."""
    return [_option(one.name, one.default, one.metadata["option"]) for one in fields(Settings) if one.metadata]


def _option(attribute: str, default: object, told: dict[str, Any]) -> Option:
    return Option(attribute, told["name"] or attribute, default, told["help"], told["group"], told["secret"],
                  told["least"], told["most"], told["choices"], told["heat"])
