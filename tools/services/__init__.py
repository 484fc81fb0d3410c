"""Private PostgreSQL, MariaDB and RabbitMQ for tests and for trying out: `scripts/services`, or as a library.

    with services.running(["postgresql", "rabbitmq"]) as found:
        found["postgresql"].url

Each lives under one scratch folder, on free loopback ports, with a password of its own, beside whatever else this
machine runs. Nothing here needs more than a Python: it uses the standard library only.
"""

from tools.services.keeper import NAMES, Keeper, running
from tools.services.packages import Impossible
from tools.services.processes import Running, began

__all__ = ["NAMES", "Impossible", "Keeper", "Running", "began", "running"]
