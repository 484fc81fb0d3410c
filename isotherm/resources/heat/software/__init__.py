"""Software types of Heat: configs, deployments, deployment groups and deployed servers."""
