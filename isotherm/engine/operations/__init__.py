"""What the Orchestrator accepts besides create, update and delete, one module a noun."""
