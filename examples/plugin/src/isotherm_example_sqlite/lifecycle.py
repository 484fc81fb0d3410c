"""A lifecycle hook: it refuses some stacks, and writes the ends of operations to the log."""

import logging

log = logging.getLogger(__name__)


class RefuseReservedNames:
    """Refuses to create stacks whose names begin with sqlite_."""

    def before(self, operation):
        if operation.action == "CREATE" and operation.stack_name.startswith("sqlite_"):
            raise ValueError("names of stacks must not begin with sqlite_ here")

    def after(self, operation):
        outcome = "failed" if operation.failure else "was successful"
        log.info("%s of stack %s %s", operation.action, operation.stack_name, outcome)
