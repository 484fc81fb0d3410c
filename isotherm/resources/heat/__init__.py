"""The types of Heat itself: those that need no cloud."""

from __future__ import annotations

#: Type -> address of its class, which is loaded when it is first needed (decision 33).
TYPES = {
    "AWS::CloudFormation::WaitCondition": "isotherm.resources.heat.wait_condition:CloudFormationWaitCondition",
    "AWS::CloudFormation::WaitConditionHandle": "isotherm.resources.heat.wait_condition:CloudFormationHandle",
    "Isotherm::Stack::Outputs": "isotherm.resources.heat.stack_outputs:StackOutputs",
    "OS::Heat::AccessPolicy": "isotherm.resources.heat.access_policy:AccessPolicy",
    "OS::Heat::AutoScalingGroup": "isotherm.resources.heat.groups.auto_scaling_group:AutoScalingGroup",
    "OS::Heat::CloudConfig": "isotherm.resources.heat.software.software_config:CloudConfig",
    "OS::Heat::Delay": "isotherm.resources.heat.delay:Delay",
    "OS::Heat::DeployedServer": "isotherm.resources.heat.software.deployed_server:DeployedServer",
    "OS::Heat::Dummy": "isotherm.resources.heat.dummy:Dummy",
    "OS::Heat::MultipartMime": "isotherm.resources.heat.software.software_config:MultipartMime",
    "OS::Heat::None": "isotherm.resources.heat.none:NoneResource",
    "OS::Heat::RandomString": "isotherm.resources.heat.random_string:RandomString",
    "OS::Heat::ResourceChain": "isotherm.resources.heat.groups.resource_chain:ResourceChain",
    "OS::Heat::ResourceGroup": "isotherm.resources.heat.groups.resource_group:ResourceGroup",
    "OS::Heat::ScalingPolicy": "isotherm.resources.heat.groups.scaling_policy:ScalingPolicy",
    "OS::Heat::SoftwareComponent": "isotherm.resources.heat.software.software_config:SoftwareComponent",
    "OS::Heat::SoftwareConfig": "isotherm.resources.heat.software.software_config:SoftwareConfig",
    "OS::Heat::SoftwareDeployment": "isotherm.resources.heat.software.software_deployment:SoftwareDeployment",
    "OS::Heat::SoftwareDeploymentGroup": "isotherm.resources.heat.software.deployment_group:SoftwareDeploymentGroup",
    "OS::Heat::SoftwareDeployments": "isotherm.resources.heat.software.deployment_group:SoftwareDeployments",
    "OS::Heat::Stack": "isotherm.resources.heat.remote_stack:RemoteStack",
    "OS::Heat::StructuredConfig": "isotherm.resources.heat.software.software_config:StructuredConfig",
    "OS::Heat::StructuredDeployment": "isotherm.resources.heat.software.software_deployment:StructuredDeployment",
    "OS::Heat::StructuredDeploymentGroup": "isotherm.resources.heat.software.deployment_group:StructuredDeploymentGroup",
    "OS::Heat::StructuredDeployments": "isotherm.resources.heat.software.deployment_group:StructuredDeployments",
    "OS::Heat::TestResource": "isotherm.resources.heat.test_resource:TestResource",
    "OS::Heat::UpdateWaitConditionHandle": "isotherm.resources.heat.wait_condition:UpdateWaitConditionHandle",
    "OS::Heat::Value": "isotherm.resources.heat.value:Value",
    "OS::Heat::WaitCondition": "isotherm.resources.heat.wait_condition:WaitCondition",
    "OS::Heat::WaitConditionHandle": "isotherm.resources.heat.wait_condition:WaitConditionHandle",
}
