"""The types of CloudFormation that Heat has: `stack`, and in `ec2` thin layers over the types of OpenStack."""

from __future__ import annotations

from isotherm.resources.aws import ec2
from isotherm.resources.aws.stack import Stack
from isotherm.resources.contract import Resource

TYPES: tuple[type[Resource], ...] = (Stack, *ec2.TYPES)
