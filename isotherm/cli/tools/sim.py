"""`isotherm sim`: runs the simulator and prints the history of each seed that breaks an invariant."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from isotherm.cli import options
from isotherm.cli.show import console
from isotherm.sim import run, scenario
from isotherm.sim.histories import drawn_histories
from isotherm.sim.seeds import many, shrink

# Seeds between two progress lines of --soak.
SOAK_EVERY = 500
SEEDS = 1000


@click.command(epilog=options.example("isotherm sim --seeds 10000", "isotherm sim --seed 4711",
                                      "isotherm sim --scenario tests/scenarios/replace_then_change_your_mind.py"))
@click.option("--seeds", type=click.IntRange(min=1), default=None, help="The number of seeds; by default 1000.")
@click.option("--from", "start", type=click.IntRange(min=0), default=0, show_default=True, help="The first seed.")
@click.option("--seed", type=click.IntRange(min=0), default=None, help="Replay this seed and print its history.")
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="The number of processes; by default one per core.")
@click.option("--soak", is_flag=True, help="Run until interrupted.")
@click.option("--shrink/--no-shrink", "shrinks", default=True, help="Shrink histories that break an invariant.")
@click.option("--scenario", "scenarios", type=click.Path(exists=True, path_type=Path), multiple=True,
              help="Run a scripted scenario, or all scenarios of a folder. Repeatable.")
@options.json_option
@click.pass_obj
def sim(printer: console.Printer, seeds: int | None, start: int, seed: int | None, jobs: int | None, soak: bool,  # noqa: PLR0913 - one each
        shrinks: bool, scenarios: tuple[Path, ...]) -> int:
    """Run the engine in the simulator, with crashes, lost answers and concurrent clients.

    Each seed is one history; the same seed always gives the same history. If an invariant is broken, the history is shrunk
    and printed.
    """
    if scenarios:
        return _scenarios(printer, scenarios, range(start, start + (seeds or 1)))
    if seed is not None:
        return _replay(printer, seed, shrinks=shrinks)
    count = seeds or SEEDS
    numbers: Iterable[int] = itertools.count(start) if soak else range(start, start + count)
    return _many(printer, numbers, None if soak else count, jobs or many.cores(), shrinks=shrinks)


def _replay(printer: console.Printer, seed: int, *, shrinks: bool) -> int:
    drawn = drawn_histories.draw(seed)
    outcome = run.play(drawn)
    lines = outcome.lines
    if shrinks and not outcome.well:
        small = shrink.shrink(drawn, outcome)
        lines = [*lines, "", f"as small as it gets, after {small.attempts} attempts:", *small.outcome.lines]
    data = {"seed": seed, "well": outcome.well, "violations": outcome.violations, "history": lines,
            "virtual_s": outcome.virtual_s, "steps": outcome.steps, "faults": outcome.struck}  # fmt: skip
    printer.result(data, lambda: _draw_replay(outcome, lines))
    return 0 if outcome.well else 1


def _draw_replay(outcome: run.Outcome, lines: list[str]) -> Iterator[RenderableType]:
    for line in lines:
        yield Text(console.clean(line).replace("\\x0a", "\n"), "bold red" if "BROKEN" in line else "")
    yield Text("")
    if outcome.well:
        yield Text(f"Seed {outcome.seed}: nothing broke in {outcome.virtual_s:.0f} virtual seconds, "
                   f"{outcome.steps:,} steps and {outcome.struck} faults.", "green")
    for violation in outcome.violations[:3]:
        yield Text(f"Seed {outcome.seed} broke {violation}", "bold red")


def _many(printer: console.Printer, numbers: Iterable[int], total: int | None, jobs: int, *, shrinks: bool) -> int:
    tally = many.Tally()
    try:
        with _bar(printer) as bar:
            task = bar.add_task("seeds", total=total)
            for result in many.play(numbers, jobs):
                tally.add(result)
                bar.update(task, advance=1, description=_found(tally))
                if total is None and tally.seeds % SOAK_EVERY == 0:
                    printer.err.print(_line(tally))
    except KeyboardInterrupt:
        # Report the results so far.
        printer.err.print("interrupted")
    stories = [_story(result.seed) for result in tally.failed[:3]] if shrinks else []
    printer.result({**tally.as_dict(), "stories": stories}, lambda: _draw_many(tally, stories))
    return 1 if tally.failed else 0


def _bar(printer: console.Printer) -> Progress:
    hidden = printer.as_json or not printer.err.is_terminal
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                    TimeRemainingColumn(), console=printer.err, disable=hidden, transient=True)


def _found(tally: many.Tally) -> str:
    return f"seeds, {len(tally.failed)} broke something" if tally.failed else "seeds, all well"


def _story(seed: int) -> list[str]:
    drawn = drawn_histories.draw(seed)
    small = shrink.shrink(drawn, run.play(drawn))
    return small.outcome.lines


def _line(tally: many.Tally) -> Text:
    rate = tally.seeds / max(tally.seconds, 0.001)
    return Text(f"{tally.seeds:,} seeds, {tally.virtual_s / 3600:,.1f} virtual hours, {sum(tally.hit.values()):,} faults, "
                f"{len(tally.hit)} pairs of fault and hook, {rate:.1f} seeds/s, {len(tally.failed)} failed")


def _draw_many(tally: many.Tally, stories: list[list[str]]) -> Iterator[RenderableType]:
    yield _line(tally)
    rows = sorted(tally.hit.items())
    if rows:
        yield Text("")
        yield console.table(
            ["fault", "hook", "times"], [(fault, hook, str(count)) for (fault, hook), count in rows], keep=2
        )
    for result, story in itertools.zip_longest(tally.failed[:20], stories):
        yield Text("")
        yield Text(f"Seed {result.seed} broke {result.violations[0]}", "bold red")
        for line in story or ():
            yield Text("  " + console.clean(line).replace("\\x0a", "\n  "))
    if tally.failed:
        yield Text("")
        yield Text(f"Replay with: isotherm sim --seed {tally.failed[0].seed}")
    else:
        yield Text("Nothing broke.", "green")


def _scenarios(printer: console.Printer, paths: tuple[Path, ...], seeds: range) -> int:
    files = [file for path in paths for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
    results = [scenario.play(file, seed) for file in files for seed in seeds]
    failed = [result for result in results if result.problem]
    data = {"scenarios": [{"file": str(one.file), "seed": one.seed, "well": not one.problem, "problem": one.problem}
                          for one in results]}  # fmt: skip
    printer.result(data, lambda: _draw_scenarios(files, results, failed))
    return 1 if failed else 0


def _draw_scenarios(files: list[Path], results: list[scenario.ScenarioResult], failed: list[scenario.ScenarioResult]
                    ) -> Iterator[RenderableType]:
    if len(results) == 1:
        yield from (Text(console.clean(line)) for line in results[0].lines)
        yield Text("")
    for one in failed[:20]:
        yield Text(f"{one.file.name}, seed {one.seed}: {one.problem}", "bold red")
    well = len(results) - len(failed)
    yield Text(f"{console.count(len(files), 'scenario')}: {well} of {console.count(len(results), 'run')} went well.",
               "green" if not failed else "")
