"""Services of the Orchestrator that accept operations and signals, one module for each noun."""
