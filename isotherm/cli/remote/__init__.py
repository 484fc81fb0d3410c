"""The engine behind a service: the port `cli.client.port` over Heat's API and the routes that Isotherm adds to it.

    access       the address and the token of a service: an entry of clouds.yaml, or a URL
    session      requests, streams, and the errors in answers as errors of Isotherm
    forms        forms of the API as views of the engine's queries, and requests as bodies
    stacks       stacks, their operations, exports and snapshots
    contents     resources, events, inputs, outputs, signals
    ownership    protection, and forgetting
    overview     drift, plans, causes and timelines
    follow       frames for the live view, from the stream of the service, or put together from a Heat's answers
    engine       `RemoteEngine`, with all of them

A Heat is served as far as its API carries. A command that needs a route that it does not have fails with a sentence.
"""
