"""The types of Heat itself: those that need no cloud."""

from __future__ import annotations

from isotherm.resources.contract import Resource
from isotherm.resources.heat.access_policy import AccessPolicy
from isotherm.resources.heat.delay import Delay
from isotherm.resources.heat.dummy import Dummy
from isotherm.resources.heat.groups.auto_scaling_group import AutoScalingGroup
from isotherm.resources.heat.groups.resource_chain import ResourceChain
from isotherm.resources.heat.groups.resource_group import ResourceGroup
from isotherm.resources.heat.groups.scaling_policy import ScalingPolicy
from isotherm.resources.heat.none import NoneResource
from isotherm.resources.heat.random_string import RandomString
from isotherm.resources.heat.remote_stack import RemoteStack
from isotherm.resources.heat.software.deployed_server import DeployedServer
from isotherm.resources.heat.software.deployment_group import (
    SoftwareDeploymentGroup,
    SoftwareDeployments,
    StructuredDeploymentGroup,
    StructuredDeployments,
)
from isotherm.resources.heat.software.software_config import (
    CloudConfig,
    MultipartMime,
    SoftwareComponent,
    SoftwareConfig,
    StructuredConfig,
)
from isotherm.resources.heat.software.software_deployment import SoftwareDeployment, StructuredDeployment
from isotherm.resources.heat.stack_outputs import StackOutputs
from isotherm.resources.heat.test_resource import TestResource
from isotherm.resources.heat.value import Value
from isotherm.resources.heat.wait_condition import (
    CloudFormationHandle,
    CloudFormationWaitCondition,
    UpdateWaitConditionHandle,
    WaitCondition,
    WaitConditionHandle,
)

TYPES: tuple[type[Resource], ...] = (
    AccessPolicy, AutoScalingGroup, CloudConfig, CloudFormationHandle, CloudFormationWaitCondition, Delay,
    DeployedServer, Dummy, MultipartMime, NoneResource, RandomString, RemoteStack, ResourceChain, ResourceGroup,
    ScalingPolicy, SoftwareComponent, SoftwareConfig, SoftwareDeployment, SoftwareDeploymentGroup, SoftwareDeployments,
    StackOutputs, StructuredConfig, StructuredDeployment, StructuredDeploymentGroup, StructuredDeployments, TestResource,
    UpdateWaitConditionHandle, Value, WaitCondition, WaitConditionHandle,
)
