"""The sinks that the options ask for."""

from __future__ import annotations

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.delivery import webhooks
from isotherm.engine.delivery.messages import Sink
from isotherm.engine.delivery.notifications import NotificationSink
from isotherm.engine.delivery.webhooks import WebhookSink
from isotherm.resources.context.context import Clock


def of(settings: Settings, clock: Clock) -> list[Sink]:
    """Return the sinks of the options. Raises UserError if they are wrong."""
    webhooks.check(settings)
    found: list[Sink] = [WebhookSink(settings, url, clock) for url in settings.webhook_urls]
    if sends_notifications(settings):
        found.append(NotificationSink(settings))
    return found


def sends_notifications(settings: Settings) -> bool:
    """Return whether notifications are sent. Raises UserError if there is no broker to send them to."""
    if settings.notification_driver not in ("messaging", "messagingv2"):
        return False
    if not (settings.notification_transport_url or settings.transport_url):
        raise errors.UserError("[oslo_messaging_notifications] driver: there is no broker to send notifications to",
                               hint="Set transport_url in this section, or in [DEFAULT].")
    return True
