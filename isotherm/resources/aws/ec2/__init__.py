"""AWS::EC2: servers, security groups and addresses under the names of EC2."""

from __future__ import annotations

#: Type -> address of its class, which is loaded when it is first needed (decision 33).
TYPES = {
    "AWS::EC2::EIP": "isotherm.resources.aws.ec2.eip:EIP",
    "AWS::EC2::EIPAssociation": "isotherm.resources.aws.ec2.eip_association:EIPAssociation",
    "AWS::EC2::Instance": "isotherm.resources.aws.ec2.instance:Instance",
    "AWS::EC2::SecurityGroup": "isotherm.resources.aws.ec2.security_group:EC2SecurityGroup",
}
