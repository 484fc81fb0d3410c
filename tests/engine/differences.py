"""What the two paths do differently, on purpose: the one list. Every other test of an engine passes on both.

`docs/paths.md` shows it; a test holds the two together. What the legacy path does instead is in `test_legacy.py`.
"""

from __future__ import annotations

# Modules whose tests are about one path, or go from one to the other, and the path on which they begin.
OF_ONE_PATH = {"test_one_by_one": "convergence", "test_architecture": "convergence", "test_legacy": "legacy",
               "test_migrate": "convergence"}

_ONE_AT_A_TIME = "concurrent update: on the legacy path a second operation is refused (409) while one is in progress"
_LEASES = "leases of nodes: on the legacy path the lock of the stack is the only lease"

# By test: why it holds on convergence only.
DIFFERENCES = {
    "test_the_newest_update_wins": _ONE_AT_A_TIME,
    "test_a_newer_update_waits_only_with_what_depends_on_what_is_under_way": _ONE_AT_A_TIME,
    "test_each_operation_has_an_id_of_its_own": _ONE_AT_A_TIME,
    "test_a_line_for_an_operation_that_a_newer_one_supersedes": _ONE_AT_A_TIME,
    "test_an_update_is_accepted_while_deleting_and_changes_the_deletion_policy": _ONE_AT_A_TIME,
    "test_rollback_can_be_asked_for": _ONE_AT_A_TIME,
    "test_a_newer_update_goes_down_at_once": _ONE_AT_A_TIME,
    "test_a_newer_update_replaces_a_nested_stack_that_is_being_created": _ONE_AT_A_TIME,
    "test_an_operation_that_supersedes_the_nested_one_is_waited_for": _ONE_AT_A_TIME,
    "test_the_newest_wins_between_resting_and_waking": _ONE_AT_A_TIME,
    "test_a_suspend_waits_for_the_update_that_it_overtakes": _ONE_AT_A_TIME,
    "test_a_newer_operation_does_not_wait_for_the_hook_of_an_older_one": _ONE_AT_A_TIME,
    "test_a_newer_update_does_not_wait_for_signals": _ONE_AT_A_TIME,
    "test_a_newer_update_changes_what_is_waited_for": _ONE_AT_A_TIME,
    "test_a_newer_update_that_leaves_the_wait_alone_does_not_end_it": _ONE_AT_A_TIME,
    "test_a_newer_update_overtakes_a_rolling_one": _ONE_AT_A_TIME,
    "test_changed_twice_before_a_member_is_reached": _ONE_AT_A_TIME,
    "test_an_update_overtakes_an_abandon": _ONE_AT_A_TIME,
    "test_an_update_overtakes_an_adoption": _ONE_AT_A_TIME,
    "test_it_is_a_change_of_what_was_asked_for_last": _ONE_AT_A_TIME,
    "test_signals_while_the_group_is_being_changed": _ONE_AT_A_TIME,
    "test_an_update_overtakes_a_snapshot": _ONE_AT_A_TIME,
    "test_a_copy_that_comes_too_late_is_deleted": _ONE_AT_A_TIME,
    "test_a_newer_update_does_not_wait_for_the_answer_to_an_older_config": _ONE_AT_A_TIME,
    "test_something_newer_may_come_while_something_is_under_way": _ONE_AT_A_TIME,
    "test_an_update_calls_a_delete_off": _ONE_AT_A_TIME,
    "test_what_a_newer_template_wants_is_applied_after_the_repeated_request": _ONE_AT_A_TIME,
    "test_a_newer_template_is_what_is_created_again": _ONE_AT_A_TIME,
    "test_a_limited_update_finishes_what_an_older_one_has_begun_and_begins_nothing_else": _ONE_AT_A_TIME,
    "test_a_newer_update_supersedes_a_limited_one": _ONE_AT_A_TIME,
    "test_what_was_begun_under_the_old_name_is_recorded_under_the_new_one": _ONE_AT_A_TIME,
    "test_what_a_dead_worker_held_is_free_and_what_others_hold_is_not": _LEASES,
    "test_a_worker_that_was_wrongly_called_dead_cannot_speak_any_more": _LEASES,
}
