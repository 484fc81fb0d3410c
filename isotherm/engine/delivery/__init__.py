"""Delivery of events to sinks outside: Heat's notifications on a broker (`notifications`), and webhooks (`webhooks`)."""
