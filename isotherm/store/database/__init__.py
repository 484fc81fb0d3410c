"""The database: connections, the writer thread, the write lane, bulk statements, sealing, schema and migrations."""
