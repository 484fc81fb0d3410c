"""Health checks, metrics, request logging and the list of services: what operators watch."""
