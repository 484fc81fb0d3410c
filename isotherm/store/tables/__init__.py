"""The tables, as they are today. Migrations build them."""
