"""The port to OpenStack on aiohttp: the adapter of `contract.Cloud`.

    access          the identity to act as, and the cloud: `CloudAccess`, made from an entry of clouds.yaml or a trust
    clouds_yaml     the reader of clouds.yaml
    catalogue       endpoints by service type, with the version in the URL
    tokens          tokens of Keystone: one for each access, shared and renewed
    transport       HTTP requests within limits of time, size and number
    cloud           `OpenStackCloud`: calls of services with one access

aiohttp is imported by the first call, since the import is slow. A type calls `context.cloud.call("network",
Call("GET", "/networks"))`; the URL is relative to the versioned endpoint.
"""
