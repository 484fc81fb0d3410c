"""The list of tests for the abuse cases 25 to 58; a test checks that it is complete."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ABUSE, HIDDEN = "tests/api/test_abuse.py", "tests/api/test_abuse_secrets.py"
SECRETS, KEYS = "tests/engine/test_secrets.py", "tests/engine/test_keys.py"
SIGNED, TRUSTS = "tests/api/test_signed.py", "tests/api/test_trusts.py"

CASES: dict[int, list[tuple[str, str]]] = {
    25: [(ABUSE, "test_case_25_no_route_leads_into_another_project"),
         ("tests/api/test_transport.py", "test_no_route_serves_the_project_of_another_user")],
    26: [(ABUSE, "test_case_26_what_is_anothers_is_not_found_in_ones_own"),
         (ABUSE, "test_case_26_lists_tell_ones_own_only")],
    27: [(ABUSE, "test_case_27_every_route_for_every_role"), (ABUSE, "test_case_27_every_action_for_every_role"),
         ("tests/api/test_policy.py", "test_each_rule_admits_its_roles")],
    28: [(ABUSE, "test_case_28_a_reader_changes_nothing")],
    29: [("tests/api/test_services.py", "test_one_that_stands_for_a_resource_may_ask_for_that_only")],
    30: [("tests/api/test_services.py", "test_one_that_stands_for_a_resource_may_ask_for_that_only")],
    31: [("tests/api/test_forbidden_types.py", name) for name in (
        "test_it_is_not_created", "test_it_does_not_come_with_an_update", "test_it_does_not_come_back_with_a_snapshot",
        "test_it_is_not_adopted")],
    32: [(ABUSE, "test_case_32_flags_of_administrators")],
    33: [(ABUSE, "test_case_33_what_is_anothers_is_not_adopted")],
    34: [(ABUSE, "test_case_34_what_a_stack_owns_is_not_adopted")],
    35: [(ABUSE, "test_case_35_nothing_refers_to_what_is_anothers")],
    36: [(TRUSTS, "test_no_action_for_a_user_that_has_lost_a_role"),
         ("tests/engine/test_credentials.py", "test_work_that_needs_one_waits_for_it")],
    37: [(ABUSE, "test_case_37_a_policy_that_is_being_rewritten_admits_no_caller"),
         ("tests/api/test_policy.py", "test_at_no_moment_of_many_rewrites_is_everything_allowed")],
    38: [(ABUSE, "test_case_38_the_same_names_are_not_the_same_things")],
    39: [(HIDDEN, "test_case_39_a_hidden_value_is_in_no_reply_and_no_log"),
         (SECRETS, "test_no_table_and_no_reply_tells_a_hidden_value")],
    40: [(SECRETS, "test_a_hidden_value_stays_hidden_inside")],
    41: [(SECRETS, "test_a_type_that_quotes_the_secret")],
    42: [(SECRETS, "test_an_update_that_fails_tells_neither_the_old_nor_the_new_value")],
    43: [(SECRETS, "test_no_table_and_no_reply_tells_a_hidden_value")],
    # There is no broker: what workers tell each other are rows of the database, which this test looks at.
    44: [(SECRETS, "test_no_table_and_no_reply_tells_a_hidden_value")],
    45: [(KEYS, "test_keys_can_be_rotated"), (KEYS, "test_a_lost_key_says_so_and_the_stack_can_be_deleted")],
    46: [("tests/unit/test_secrets.py", "test_no_service_starts_with_a_key_that_is_none")],
    47: [(KEYS, "test_what_was_swapped_is_not_authentic")],
    48: [(SECRETS, "test_a_write_only_property_is_never_told")],
    49: [(HIDDEN, "test_case_39_a_hidden_value_is_in_no_reply_and_no_log"),
         ("tests/api/test_monitoring.py", "test_numbers_by_route_and_never_by_name")],
    50: [(KEYS, "test_generated_passwords")],
    51: [(SECRETS, "test_a_default_and_a_file_are_covered_where_they_are_declared")],
    52: [(SIGNED, "test_after_all_have_come_no_more_do")],
    53: [(SIGNED, "test_a_signature_is_for_one_resource_one_method_and_one_spelling")],
    54: [(SIGNED, "test_a_signature_ends")],
    55: [(HIDDEN, "test_case_55_a_signature_is_good_for_nothing_else")],
    56: [(HIDDEN, "test_case_56_signals_without_number"), (SIGNED, "test_too_much_is_refused")],
    57: [(SIGNED, "test_signals_race_with_what_happens_to_the_stack"),
         (SIGNED, "test_a_replaced_resource_takes_nothing_at_its_old_address")],
    58: [(HIDDEN, "test_case_58_no_callback_is_sent"), ("tests/engine/test_http_object.py",
         "test_an_address_of_our_own_network_is_refused_unless_the_operator_allows_it")],
}


@cache
def written(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


def test_the_list_is_whole() -> None:
    assert sorted(CASES) == list(range(25, 59))


@pytest.mark.parametrize("case", CASES)
def test_each_case_has_a_test_that_there_is(case: int) -> None:
    assert CASES[case]
    assert [(file, name) for file, name in CASES[case] if name not in written(file)] == []
