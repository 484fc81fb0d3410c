"""Octavia's API as a WSGI application. OCTAVIA_CONF names its configuration."""

import os

from octavia.api import app

application = app.setup_app(argv=["octavia-api", "--config-file", os.environ["OCTAVIA_CONF"]])
