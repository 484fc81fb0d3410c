"""The WSGI application of the module that LOOPBACK_APPLICATION names, with quick replies from other processes."""

import importlib
import os

from loopback import quick_replies

application = importlib.import_module(os.environ["LOOPBACK_APPLICATION"]).application
quick_replies.install()
