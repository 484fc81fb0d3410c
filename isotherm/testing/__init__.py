"""The conformance kit for authors of resource types: `conformance` runs a type through all that the engine does to it.

    from isotherm.testing import Example, conformance

    test_lamp = conformance(Example(Lamp, {"colour": "red"}, in_place={"colour": "blue"}))

Each check is a test of its own. `kit` and `kills` have the checks, `lab` an engine to run them on, `child` the process that
is killed. It needs pytest, which is not a dependency of the service.
"""

from isotherm.testing.example import Example
from isotherm.testing.kit import conformance

__all__ = ["Example", "conformance"]
