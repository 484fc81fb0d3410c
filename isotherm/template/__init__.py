"""The template language: text to definitions. Pure: no I/O, no clock, no logging.

    text/                 text -> plain data, with limits and positions
    versions              the functions and keys of each template version
    parameters/           schemata, constraints and values of parameters
    environment, merge    environments, and several of them as one
    functions/, parse     function calls in data, and their evaluation
    model/                Template, Bound (a template with values), definitions of resources, their frozen form
    patterns/             regular expressions of users, matched in bounded time
"""
