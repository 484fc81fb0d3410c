"""The OpenAPI document, generated from the table of routes and the schemas in `fields`."""
