"""Policy: every rule for every role, and a policy file that changes while requests are served."""

from __future__ import annotations

import itertools
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.api import routes
from isotherm.api.http import faults
from isotherm.api.policy import rules
from isotherm.api.policy.enforcer import Enforcer
from isotherm.config import Settings
from isotherm.identity.caller import Caller


def words(text: str) -> list[str]:
    return text.split()


TICKS = itertools.count(1)
OWN = {"project_id": "p"}
PEOPLE = {
    "member": Caller("p", "u1", "m", frozenset({"member", "reader"})),
    "reader": Caller("p", "u2", "r", frozenset({"reader"})),
    "machine": Caller("p", "u3", "s", frozenset({"heat_stack_user"})),
    "nobody": Caller("p", "u4", "n"),
    "admin": Caller("p", "u5", "a", frozenset({"admin", "member", "reader"}), is_admin=True),
    "foreign admin": Caller("q", "u6", "a", frozenset({"admin", "member", "reader"}), is_admin=True),
    "foreigner": Caller("q", "u7", "f", frozenset({"member", "reader"})),
    "no project": Caller("", "u8", "s", frozenset({"admin", "member", "reader"}), is_admin=True),
}
READERS = {"member", "reader", "admin", "foreign admin"}
MEMBERS = {"member", "admin", "foreign admin"}
ADMINS = {"admin", "foreign admin"}
ANY_ADMIN = {*ADMINS, "no project"}
MACHINES = {*READERS, "machine"}

READ = words("""
    actions:check build_info:build_info drift:show drift:show_project events:index events:show resource:index resource:show
    software_configs:index software_configs:show software_deployments:index software_deployments:show
    stacks:detail stacks:environment stacks:files stacks:index stacks:list_outputs stacks:list_resource_types
    stacks:list_snapshots stacks:list_template_functions stacks:list_template_versions stacks:preview
    stacks:resource_schema stacks:show stacks:show_output stacks:show_snapshot stacks:template
    stacks:graph stacks:history stacks:live stacks:members stacks:operations stacks:plan stacks:summaries stacks:summary
    stacks:timeline resource:why protection:show
    cloudformation:ListStacks cloudformation:DescribeStacks cloudformation:DescribeStackEvents
    cloudformation:ValidateTemplate cloudformation:GetTemplate cloudformation:EstimateTemplateCost
    cloudformation:DescribeStackResources cloudformation:ListStackResources
""")
WRITE = words("""
    actions:action actions:cancel_update actions:cancel_without_rollback actions:resume actions:snapshot actions:suspend
    actions:roll_back actions:retry protection:set protection:lift stacks:forget resource:forget resource:move
    drift:repair stacks:plan_restore stacks:plan_update stacks:problems
    stacks:import stacks:import_template stacks:plan_import
    drift:observe drift:set drift:set_project resource:mark_unhealthy software_configs:create software_configs:delete
    software_deployments:create software_deployments:delete software_deployments:update
    stacks:abandon stacks:create stacks:delete stacks:delete_snapshot stacks:export stacks:generate_template
    stacks:preview_update stacks:preview_update_patch stacks:restore_snapshot stacks:snapshot stacks:update
    stacks:update_no_change stacks:update_patch stacks:validate_template
    cloudformation:CreateStack cloudformation:DeleteStack cloudformation:UpdateStack cloudformation:CancelUpdateStack
""")
SIGNAL = words("""
    resource:metadata resource:signal software_deployments:metadata stacks:lookup cloudformation:DescribeStackResource
""")
EXPECTED = {
    **dict.fromkeys(READ, READERS),
    **dict.fromkeys(WRITE, MEMBERS),
    **dict.fromkeys(SIGNAL, MACHINES),
    **{rule: ANY_ADMIN for rule in rules.TABLE if rule.startswith("resource_types:")},
    "service:index": ADMINS,
    "stacks:global_index": set(),
    "software_configs:global_index": set(),
    "context_is_admin": ANY_ADMIN,
    "project_admin": ANY_ADMIN,
    "deny_stack_user": set(PEOPLE) - {"machine"},
    "deny_everybody": set(),
    "allow_everybody": set(PEOPLE),
}


def test_every_rule_is_in_this_table() -> None:
    assert set(EXPECTED) == set(rules.TABLE)


@pytest.mark.parametrize("rule", sorted(EXPECTED))
def test_each_rule_admits_its_roles(rule: str) -> None:
    policy = Enforcer()
    assert {name for name, caller in PEOPLE.items() if policy.allows(rule, caller, OWN)} == EXPECTED[rule]


def test_every_route_has_a_rule_that_exists() -> None:
    assert {route.rule for route in routes.TABLE} <= set(rules.TABLE)


def test_a_refusal_names_the_rule() -> None:
    with pytest.raises(faults.Fault, match=r"^You are not authorized to use stacks:create\.$") as caught:
        Enforcer().check("stacks:create", PEOPLE["reader"], OWN)
    assert (caught.value.status, caught.value.kind) == (403, "Forbidden")


def test_a_rule_that_does_not_exist_allows_nothing() -> None:
    assert not Enforcer().allows("stacks:no_such_thing", PEOPLE["admin"], OWN)


def test_an_administrator_of_another_project_is_no_administrator_of_the_cloud() -> None:
    caller = Caller("q", "u", "a", frozenset({"admin", "member", "reader"}), is_admin_project=False)
    assert not Enforcer().is_admin(caller)
    assert not Enforcer().allows("stacks:index", caller, OWN)


class TestTypes:
    @pytest.mark.parametrize("type_", ["OS::Nova::Flavor", "OS::Keystone::User", "OS::Neutron::Segment"])
    def test_only_administrators_use_some(self, type_: str) -> None:
        policy = Enforcer()
        assert policy.allows_type(type_, PEOPLE["admin"])
        assert not policy.allows_type(type_, PEOPLE["member"])
        with pytest.raises(faults.Fault, match=type_):
            policy.check_type(type_, PEOPLE["member"])

    def test_types_without_a_rule_are_open_to_all_users(self) -> None:
        assert Enforcer().allows_type("OS::Heat::RandomString", PEOPLE["member"])
        assert Enforcer().allows_type("My::Own", PEOPLE["member"])

    def test_a_file_forbids_any(self, tmp_path: Path) -> None:
        file = tmp_path / "policy.yaml"
        file.write_text('{"resource_types:OS::Heat::RandomString": "!", "resource_types:OS::Swift::*": "role:admin"}')
        policy = Enforcer(file)
        assert not policy.allows_type("OS::Heat::RandomString", PEOPLE["admin"])
        assert not policy.allows_type("OS::Swift::Container", PEOPLE["member"])
        assert policy.allows_type("OS::Swift::Container", PEOPLE["admin"])


STRICT = '"stacks:index": "!"\n'
BROKEN = {
    "no YAML": '"stacks:index": "!',
    "no mapping": "- stacks:index\n",
    "no text": '"stacks:index": null\n',
    "a list": '"stacks:index": []\n',
    "no check": '"stacks:index": "not rubbish"\n',
    "half a check": '"stacks:index": "role:reader and"\n',
    "a missing rule": '"stacks:index": "rule:nowhere"\n',
    "a cycle": '"stacks:index": "rule:stacks:show"\n"stacks:show": "rule:stacks:index"\n',
    "another service": '"stacks:index": "role:reader or http://127.0.0.1:9/"\n',
    "nothing": "",
    "no UTF-8": b"\xff\xfe",
}


class TestFile:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        (tmp_path / "policy.yaml").write_text(STRICT)
        return tmp_path / "policy.yaml"

    def test_it_changes_the_rules_it_names_and_no_others(self, file: Path) -> None:
        policy = Enforcer(file)
        assert not policy.allows("stacks:index", PEOPLE["member"], OWN)
        assert policy.allows("stacks:show", PEOPLE["member"], OWN)

    def test_a_change_holds_from_the_next_request_on(self, file: Path) -> None:
        policy = Enforcer(file)
        assert not policy.allows("stacks:index", PEOPLE["member"], OWN)
        write(file, '"stacks:index": "role:member"\n')
        assert policy.allows("stacks:index", PEOPLE["member"], OWN)
        write(file, "{}\n")
        assert policy.allows("stacks:index", PEOPLE["reader"], OWN)

    @pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
    def test_a_broken_one_changes_nothing(self, file: Path, text: str | bytes, caplog: pytest.LogCaptureFixture) -> None:
        policy = Enforcer(file)
        write(file, text)
        assert not policy.allows("stacks:index", PEOPLE["member"], OWN)
        assert "previous rules stay in force" in caplog.text
        write(file, '"stacks:index": "role:reader"\n')
        assert policy.allows("stacks:index", PEOPLE["member"], OWN)

    @pytest.mark.parametrize("text", [text for text in BROKEN.values() if text])
    def test_the_service_does_not_start_with_a_broken_one(self, file: Path, text: str | bytes) -> None:
        write(file, text)
        with pytest.raises(errors.UserError):
            Enforcer(file)

    def test_one_that_disappears_changes_nothing(self, file: Path) -> None:
        policy = Enforcer(file)
        file.unlink()
        assert not policy.allows("stacks:index", PEOPLE["member"], OWN)

    def test_one_that_appears_is_read(self, tmp_path: Path) -> None:
        policy = Enforcer(tmp_path / "policy.yaml")
        assert policy.allows("stacks:index", PEOPLE["member"], OWN)
        write(tmp_path / "policy.yaml", STRICT)
        assert not policy.allows("stacks:index", PEOPLE["member"], OWN)

    def test_at_no_moment_of_many_rewrites_is_everything_allowed(self, file: Path) -> None:
        """Case 37 of the abuse cases: a writer that is not careful, while requests come in."""
        policy, stop = Enforcer(file), threading.Event()

        def rewrite() -> None:
            while not stop.is_set():
                text: Any
                for text in (STRICT, *BROKEN.values()):
                    write(file, text)

        writer = threading.Thread(target=rewrite)
        writer.start()
        try:
            allowed = sum(policy.allows("stacks:index", PEOPLE["member"], OWN) for _ in range(3000))
        finally:
            stop.set()
            writer.join()
        assert allowed == 0

    def test_it_stands_beside_the_file_of_options(self, file: Path) -> None:
        settings = Settings(config_files=(str(file.with_name("isotherm.conf")),))
        assert not Enforcer.of(settings).allows("stacks:index", PEOPLE["member"], OWN)

    def test_one_that_is_named_and_missing_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(errors.UserError, match="does not exist"):
            Enforcer.of(Settings(policy_file=str(tmp_path / "other.yaml")))

    def test_without_any_the_defaults_hold(self) -> None:
        assert Enforcer.of(Settings()).allows("stacks:index", PEOPLE["reader"], OWN)


def write(file: Path, text: str | bytes) -> None:
    """Another content at another time, however coarse the clock of the file system."""
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    later = file.stat().st_mtime_ns + next(TICKS) * 1_000_000
    os.utime(file, ns=(later, later))
