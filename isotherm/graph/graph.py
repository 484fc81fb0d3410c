"""DependencyTaskGraph: an immutable graph of names and their requirements.

`requires` and `required_by` are the two directions of the same edges; every name is a node, with or without edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from isotherm import errors

Key = TypeVar("Key", str, int)


class DependencyTaskGraph(Generic[Key]):
    """Nodes and their requirements. A requirement that is not a node is left out."""

    __slots__ = ("_required_by", "_requires")

    def __init__(self, requires: Mapping[Key, Iterable[Key]]) -> None:
        self._requires: dict[Key, tuple[Key, ...]] = {
            node: tuple(need for need in needs if need in requires) for node, needs in requires.items()
        }
        required_by: dict[Key, list[Key]] = {node: [] for node in requires}
        for node, needs in self._requires.items():
            for need in needs:
                required_by[need].append(node)
        self._required_by: dict[Key, list[Key]] = required_by

    def __len__(self) -> int:
        return len(self._requires)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._requires)

    def __contains__(self, node: object) -> bool:
        return node in self._requires

    def requires(self, node: Key) -> tuple[Key, ...]:
        return self._requires[node]

    def required_by(self, node: Key) -> list[Key]:
        return self._required_by[node]

    def edges(self) -> Iterator[tuple[Key, Key]]:
        """Yield (requirement, dependant)."""
        for node, needs in self._requires.items():
            for need in needs:
                yield need, node

    def levels(self) -> list[list[Key]]:
        """Return the nodes by level; each level requires only the levels before it. Raises on a cycle."""
        pending = {node: len(needs) for node, needs in self._requires.items()}
        level = [node for node, count in pending.items() if not count]
        found: list[list[Key]] = []
        reached = 0
        while level:
            found.append(level)
            reached += len(level)
            following: list[Key] = []
            for node in level:
                for dependant in self._required_by[node]:
                    pending[dependant] -= 1
                    if not pending[dependant]:
                        following.append(dependant)
            level = following
        if reached != len(self._requires):
            raise circular(self.cycle())
        return found

    def order(self) -> list[Key]:
        """Return all nodes, requirements first. Raises on a cycle."""
        return [node for level in self.levels() for node in level]

    def closure(self, start: Iterable[Key]) -> set[Key]:
        """Return the given nodes and all their direct and indirect dependants."""
        reached = set(start)
        todo = list(reached)
        while todo:
            for dependant in self._required_by[todo.pop()]:
                if dependant not in reached:
                    reached.add(dependant)
                    todo.append(dependant)
        return reached

    def needs(self, start: Iterable[Key]) -> set[Key]:
        """Return the given nodes and all their direct and indirect requirements."""
        reached = set(start)
        todo = list(reached)
        while todo:
            for need in self._requires[todo.pop()]:
                if need not in reached:
                    reached.add(need)
                    todo.append(need)
        return reached

    def cycle(self) -> list[Key]:
        """Return one cycle, as a list whose last element requires its first; empty if there is none."""
        done: set[Key] = set()
        for start in self._requires:
            path: list[Key] = []
            at: dict[Key, int] = {}
            stack: list[tuple[Key, Iterator[Key]]] = []
            if start not in done:
                stack.append((start, iter(self._requires[start])))
                at[start] = 0
                path.append(start)
            while stack:
                node, needs = stack[-1]
                need = next((n for n in needs if n not in done), None)
                if need is None:
                    done.add(node)
                    stack.pop()
                    path.pop()
                    del at[node]
                elif need in at:
                    return path[at[need]:]
                else:
                    at[need] = len(path)
                    path.append(need)
                    stack.append((need, iter(self._requires[need])))
        return []


def circular(cycle: Iterable[object]) -> errors.UserError:
    names = [str(name) for name in cycle]
    return errors.UserError(
        f"Circular Dependency Found: {' -> '.join([*names, *names[:1]])}",
        kind="CircularDependencyException",
        hint="Each of these waits for the next: take one of the references away.",
    )
