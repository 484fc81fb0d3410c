"""Runs the migrations for alembic, on the given connection and in its open transaction."""

from alembic import context

from isotherm.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
