"""Work of operators on a whole service: housekeeping and migration to convergence."""
