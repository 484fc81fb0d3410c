"""The template function `sqlite_columns`: columns as one writes them in SQL."""

from isotherm.template.functions.node import Function, Misuse


class SqliteColumns(Function):
    """The columns of a text such as "id INTEGER, name TEXT", as a map."""

    form = "example.sqlite_columns"

    def evaluate(self, args, scope):
        if args is None:
            return None  # an attribute that is not known yet
        if not isinstance(args, str):
            raise Misuse(f"{self.name} takes a string")
        columns = [part.split() for part in args.split(",")]
        if any(len(column) != 2 for column in columns):
            raise Misuse(f'{self.name} takes a string such as "id INTEGER, name TEXT"')
        return dict(columns)
