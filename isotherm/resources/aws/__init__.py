"""The types of CloudFormation that Heat has: `stack`, and in `ec2` thin layers over the types of OpenStack."""

from __future__ import annotations

from isotherm.resources.aws import ec2

#: Type -> address of its class, which is loaded when it is first needed (decision 33).
TYPES = {
    "AWS::CloudFormation::Stack": "isotherm.resources.aws.stack:Stack",
    **ec2.TYPES,
}
