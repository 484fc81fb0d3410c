"""Writes cases/generated.yaml: functions nested in functions, as no author would write them.

Run by hand, with a seed; its output is kept, so that all runs ask the same questions. Most expressions are typed (a text,
a list, a map); a few have a wrong type, to compare which side refuses them, and when.
"""

from __future__ import annotations

import builtins
import random
import sys
from collections.abc import Callable

import yaml

from tests.compat import corpus

HEAD = """# Nested functions, written by generate.py. Kept as data: do not edit, write new ones with another seed.
shape: expression
world: hot
versions: sampled
cases:
"""
WORDS = ("a", "b", "hello", "x-y", "", "k", "%v%", "10")


Make = Callable[[int], corpus.Json]


class Maker:
    """Makes expressions of a wanted type, to a depth."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._texts = (self._word, self._number_text, self._param_text, self._join, self._replace, self._attr_text,
                       self._reference, self._split_item, self._digest, self._file, self._if_text, self._url,
                       self._yaql_text, self._strict)
        self._lists = (self._plain_list, self._param_list, self._split, self._repeat, self._concat, self._filter,
                       self._if_list, self._attr_list, self._repeat_pairs)
        self._maps = (self._plain_map, self._param_map, self._merge, self._map_replace, self._attr_map, self._if_map)

    def any(self, depth: int) -> corpus.Json:
        return self.random.choice((self.text, self.list, self.map))(depth)

    def text(self, depth: int) -> corpus.Json:
        return self._make(self._texts, depth, self._word)

    def list(self, depth: int) -> corpus.Json:
        return self._make(self._lists, depth, self._plain_list)

    def map(self, depth: int) -> corpus.Json:
        return self._make(self._maps, depth, self._plain_map)

    def _make(self, makers: tuple[Make, ...], depth: int, leaf: Make) -> corpus.Json:
        if self.random.random() < 0.03:
            return self.random.choice((None, 5, True, ["wrong"], {"wrong": 1}, "wrong"))
        return leaf(0) if depth <= 0 else self.random.choice(makers)(depth - 1)

    def _some(self, make: Make, depth: int, most: int = 3) -> builtins.list[corpus.Json]:
        return [make(depth) for _ in range(self.random.randint(1, most))]

    # texts
    def _word(self, depth: int) -> corpus.Json:
        return self.random.choice(WORDS)

    def _number_text(self, depth: int) -> corpus.Json:
        return str(self.random.randint(0, 9))

    def _param_text(self, depth: int) -> corpus.Json:
        paths = (["tree", "k"], ["names", 1], ["tree", "zz"])
        return {"get_param": self.random.choice(("text", "empty", "secret", *paths))}

    def _join(self, depth: int) -> corpus.Json:
        return {"list_join": [self.text(0), self.list(depth)]}

    def _replace(self, depth: int) -> corpus.Json:
        return {"str_replace": {"template": self.text(depth), "params": {self._word(0): self.text(depth)}}}

    def _strict(self, depth: int) -> corpus.Json:
        return {"str_replace_strict": {"template": self.text(depth), "params": {"l": self.any(depth)}}}

    def _attr_text(self, depth: int) -> corpus.Json:
        return {"get_attr": self.random.choice((["made", "output"], ["holder", "value", "k"], ["unborn", "value"]))}

    def _reference(self, depth: int) -> corpus.Json:
        return {"get_resource": self.random.choice(("made", "random", "unborn"))}

    def _split_item(self, depth: int) -> corpus.Json:
        return {"str_split": [self.random.choice((",", "l", "-")), self.text(depth), 0]}

    def _digest(self, depth: int) -> corpus.Json:
        return {"digest": ["md5", self.text(depth)]}

    def _file(self, depth: int) -> corpus.Json:
        return {"get_file": "hello.txt"}

    def _url(self, depth: int) -> corpus.Json:
        return {"make_url": {"scheme": "http", "host": self.text(depth), "path": self.text(depth)}}

    def _yaql_text(self, depth: int) -> corpus.Json:
        return {"yaql": {"expression": "str($.data).len()", "data": self.any(depth)}}

    def _if_text(self, depth: int) -> corpus.Json:
        return self._if(self.text, depth)

    # lists
    def _plain_list(self, depth: int) -> corpus.Json:
        return self._some(self.text, depth)

    def _param_list(self, depth: int) -> corpus.Json:
        return {"get_param": self.random.choice(("names", "nothing", ["tree", "l"]))}

    def _split(self, depth: int) -> corpus.Json:
        return {"str_split": [self.random.choice((",", "l", "-")), self.text(depth)]}

    def _repeat(self, depth: int) -> corpus.Json:
        return {"repeat": {"template": self.random.choice(("%v%", ["%v%", "q"], {"n": "%v%"}, self.text(depth))),
                           "for_each": {"%v%": self.list(depth)}}}

    def _repeat_pairs(self, depth: int) -> corpus.Json:
        return {"repeat": {"template": "%v%-%w%", "for_each": {"%v%": self.list(depth), "%w%": self.list(depth)},
                           **({"permutations": False} if self.random.random() < 0.5 else {})}}

    def _concat(self, depth: int) -> corpus.Json:
        return {self.random.choice(("list_concat", "list_concat_unique")): self._some(self.list, depth)}

    def _filter(self, depth: int) -> corpus.Json:
        return {"filter": [self.list(depth), self.list(depth)]}

    def _attr_list(self, depth: int) -> corpus.Json:
        return {"get_attr": ["holder", "value", "l"]}

    def _if_list(self, depth: int) -> corpus.Json:
        return self._if(self.list, depth)

    # maps
    def _plain_map(self, depth: int) -> corpus.Json:
        return {self._word(0): self.any(depth) for _ in range(self.random.randint(1, 3))}

    def _param_map(self, depth: int) -> corpus.Json:
        return {"get_param": self.random.choice(("tree", ["tree", "n"], ["rows", 0]))}

    def _merge(self, depth: int) -> corpus.Json:
        return {"map_merge": self._some(self.map, depth)}

    def _map_replace(self, depth: int) -> corpus.Json:
        return {"map_replace": [self.map(depth), {"keys": {"k": self.text(depth)}, "values": {"v": self.any(depth)}}]}

    def _attr_map(self, depth: int) -> corpus.Json:
        return {"get_attr": ["holder", "value"]}

    def _if_map(self, depth: int) -> corpus.Json:
        return self._if(self.map, depth)

    def _if(self, make: Make, depth: int) -> corpus.Json:
        condition = self.random.choice(("on", "off", "said", {"not": "on"}, {"equals": [{"get_param": "number"}, 42]}))
        branches = [make(depth), make(depth)]
        return {"if": [condition, *branches[:2 if self.random.random() < 0.85 else 1]]}


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    maker = Maker(seed)
    cases = {f"g{seed}-{number:03}": maker.any(3 + number % 2) for number in range(count)}
    lines = [f"  {name}: {yaml.dump(case, default_flow_style=True, width=10_000).strip()}".removesuffix("\n...")
             for name, case in cases.items()]
    (corpus.CASES / "generated.yaml").write_text(HEAD + "\n".join(lines).replace("\n...", "") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
