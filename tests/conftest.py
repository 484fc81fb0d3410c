"""What holds for all tests: a busy machine is no failure."""

from __future__ import annotations

import hypothesis

# How long an example takes says more of the machine than of us.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")
