"""A table of resource types that holds addresses, and loads a class when it is first asked for (decision 33)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping

from isotherm import loading
from isotherm.resources import contract


class TypeTable(MutableMapping[str, type[contract.Resource]]):
    """Classes by the names of their types. Asking whether a type is there, and listing the names, loads nothing."""

    def __init__(self, classes: Iterable[type[contract.Resource]] = (), addresses: Mapping[str, str] | None = None) -> None:
        self._classes: dict[str, type[contract.Resource] | str] = dict(addresses or {})
        for one in classes:
            self.register(one)

    def register(self, one: type[contract.Resource]) -> None:
        if not one.TYPE:
            raise ValueError(f"{one.__name__} has no TYPE")
        self[one.TYPE] = one

    def __getitem__(self, name: str) -> type[contract.Resource]:
        found = self._classes[name]
        if isinstance(found, str):
            found = self._classes[name] = loading.load(found)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._classes

    def __setitem__(self, name: str, one: type[contract.Resource]) -> None:
        self._classes[name] = one

    def __delitem__(self, name: str) -> None:
        del self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def with_classes(self, classes: Iterable[type[contract.Resource]]) -> TypeTable:
        """Return a table with more types. Nothing is loaded."""
        found = TypeTable()
        found._classes = dict(self._classes)
        for one in classes:
            found.register(one)
        return found
