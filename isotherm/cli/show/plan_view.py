"""Draws plans: what an operation would do to each resource, and what is known to have drifted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from isotherm.cli.show import console

#: action -> (sign, style, words after the count)
ACTIONS = {
    "create": ("+", "green", "to create"), "update": ("~", "yellow", "to update in place"),
    "replace": ("±", "bold red", "to replace"), "delete": ("-", "red", "to delete"), "retain": ("-", "yellow", "to retain"),
    "move": ("→", "cyan", "to move"), "nothing": (" ", "dim", "without change"),
}
#: The actions that end the life of an object.
DESTRUCTIVE = ("delete", "replace")


def destroyed(plan: Mapping[str, Any]) -> int:
    """Return how many objects the plan deletes or replaces, those of nested stacks included."""
    return sum(plan["counts"].get(action, 0) for action in DESTRUCTIVE)


def changes(plan: Mapping[str, Any]) -> int:
    """Return how many resources the plan changes."""
    return sum(number for action, number in plan["counts"].items() if action != "nothing")


def draw(name: str, plan: Mapping[str, Any]) -> Iterator[RenderableType]:
    said = ", ".join(f"{number:,} {ACTIONS[action][2]}" for action, number in plan["counts"].items())
    yield Text.assemble((console.clean(name), "bold"), f": {said or 'nothing to do'}")
    if plan["operation_in_progress"]:
        yield Text("An operation is in progress; the plan starts from what it has done so far.", "yellow")
    if plan["resources"]:
        yield Text("")
    for item in plan["resources"]:
        yield from _item(item)
    if plan["left_out"]:
        yield Text(f"  and {plan['left_out']:,} more", "dim")
    if not all(item["certain"] for item in plan["resources"]):
        yield Text("")
        yield Text("? depends on values that are known only during the update: it may need no change.", "dim")
    if plan["waits"]:
        yield Text("")
        names = console.clean(", ".join(plan["waits"]))
        yield Text(f"Left out: {names}. They wait for an update that includes them.", "yellow")
    if plan["drift"]:
        yield Text("")
        yield from _drift(plan["drift"])


def _item(item: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield _headline(item)
    created = item["action"] == "create"
    for key, change in item["changes"].items():
        line = Text.assemble("    ", (console.clean(key), "cyan"), ": ")
        if not created:
            line.append_text(console.text(change["from"])).append(" → ", "dim")
        yield line.append_text(console.text(change["to"]))


def _headline(item: Mapping[str, Any]) -> Text:
    sign, style, _ = ACTIONS[item["action"]]
    path = ".".join((*item["stack"], item["resource_name"]))
    line = Text.assemble(
        (f"{sign} ", style), (console.clean(path), "bold"), "  ", (console.clean(item["resource_type"]), "dim"), "  "
    )
    line.append(item["action"], style).append("" if item["certain"] else "?", "bold")
    if item["refused"]:
        line.append(f"  refused: {console.clean(item['refused'])}", "bold red")
    if item["moved_from"]:
        line.append(f"  moved from {console.clean(item['moved_from'])}", "cyan")
    if item["cause"]:
        line.append(f"  {console.clean(item['cause'])}", "dim")
    return line


def _drift(found: list[Mapping[str, Any]]) -> Iterator[RenderableType]:
    yield console.heading("Drift: changed outside of Isotherm")
    for one in found:
        fate = "is overwritten where the plan changes it" if one["touched"] else "is left as it is"
        gone = "gone; " if one["drift"] == "gone" else ""
        yield console.indent(Text.assemble((console.clean(one["resource_name"]), "cyan"), f"  {gone}{fate}"))
        for change in one["properties"]:
            wanted = "(to be changed)" if change["change_pending"] else change["wanted"]
            yield console.indent(console.indent(Text.assemble(
                (console.clean(change["property"]), "cyan"), ": live ", console.text(change["live"], "red"),
                ", wanted ", console.text(wanted, "green"))))
    yield Text("To repair drift, use `isotherm converge`, or --converge.", "dim")
