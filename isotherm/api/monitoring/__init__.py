"""Monitoring for operators: health checks, metrics, the request log, and the list of services."""
