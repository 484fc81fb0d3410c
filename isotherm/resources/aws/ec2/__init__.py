"""AWS::EC2: servers, security groups and addresses under the names of EC2."""

from __future__ import annotations

from isotherm.resources.aws.ec2.eip import EIP
from isotherm.resources.aws.ec2.eip_association import EIPAssociation
from isotherm.resources.aws.ec2.instance import Instance
from isotherm.resources.aws.ec2.security_group import EC2SecurityGroup
from isotherm.resources.contract import Resource

TYPES: tuple[type[Resource], ...] = (EIP, EIPAssociation, Instance, EC2SecurityGroup)
