"""How alembic runs our migrations: on the connection it is given, in the transaction that is already open."""

from alembic import context

from isotherm.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
