"""Shorten a pause of oslo.messaging, which looks for the reply to a call every 0.5 s: a server would take 10 s, not 2."""

import time

PAUSE_S = 0.005


class QuickTime:
    """The module `time`, with a shorter pause of half a second."""

    def __getattr__(self, name):
        return getattr(time, name)

    def sleep(self, duration_s):
        time.sleep(PAUSE_S if duration_s == 0.5 else duration_s)


def install():
    """Give the time to the driver. Not at the top of a program: a daemon patches the standard library first."""
    from oslo_messaging._drivers import amqpdriver  # noqa: PLC0415 - see above

    amqpdriver.time = QuickTime()
