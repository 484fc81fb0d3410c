"""Names of Heat's resource types, and the service that each of them needs.

A template that was written for Heat may name any of them. The names are known here whether or not the type itself is, so
that policy and the service catalog decide about a type first, and an error says what is missing.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from isotherm.errors import UserError


class Service(NamedTuple):
    """A service by the name that Heat's messages use, and by its type in a service catalog."""

    name: str
    type: str


class Unavailable(UserError):
    """A type that Heat has, and that cannot be used here."""

    default_kind = "ResourceTypeUnavailable"


class NeededServices:
    """Services that have every type, and record the types that were asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __contains__(self, service_type: object) -> bool:
        self.asked.add(str(service_type))
        return True


class NoCloud:
    """The services where no cloud is chosen: none."""

    def __contains__(self, service_type: object) -> bool:
        return False


_NEEDING = {
    ("aodh", "alarming"): """
        OS::Aodh::Alarm OS::Aodh::CombinationAlarm OS::Aodh::CompositeAlarm OS::Aodh::EventAlarm
        OS::Aodh::GnocchiAggregationByMetricsAlarm OS::Aodh::GnocchiAggregationByResourcesAlarm
        OS::Aodh::GnocchiResourcesAlarm OS::Aodh::LBMemberHealthAlarm OS::Aodh::PrometheusAlarm
    """,
    ("barbican", "key-manager"): """
        OS::Barbican::CertificateContainer OS::Barbican::GenericContainer OS::Barbican::Order
        OS::Barbican::RSAContainer OS::Barbican::Secret
    """,
    ("blazar", "reservation"): """
        OS::Blazar::Host OS::Blazar::Lease
    """,
    ("cinder", "volumev3"): """
        AWS::EC2::Volume AWS::EC2::VolumeAttachment OS::Cinder::EncryptedVolumeType OS::Cinder::QoSAssociation
        OS::Cinder::QoSSpecs OS::Cinder::Quota OS::Cinder::Volume OS::Cinder::VolumeAttachment
        OS::Cinder::VolumeType
    """,
    ("designate", "dns"): """
        OS::Designate::RecordSet OS::Designate::Zone
    """,
    ("glance", "image"): """
        OS::Glance::WebImage
    """,
    ("ironic", "baremetal"): """
        OS::Ironic::Port
    """,
    ("keystone", "identity"): """
        OS::Keystone::Domain OS::Keystone::Endpoint OS::Keystone::Group OS::Keystone::GroupRoleAssignment
        OS::Keystone::Project OS::Keystone::Region OS::Keystone::Role OS::Keystone::Service OS::Keystone::User
        OS::Keystone::UserRoleAssignment
    """,
    ("magnum", "container-infra"): """
        OS::Magnum::BayModel OS::Magnum::Cluster OS::Magnum::ClusterTemplate
    """,
    ("manila", "sharev2"): """
        OS::Manila::SecurityService OS::Manila::Share OS::Manila::ShareNetwork OS::Manila::ShareType
    """,
    ("mistral", "workflowv2"): """
        OS::Mistral::CronTrigger OS::Mistral::ExternalResource OS::Mistral::Workflow
    """,
    ("neutron", "network"): """
        AWS::EC2::NetworkInterface AWS::EC2::RouteTable AWS::EC2::Subnet AWS::EC2::SubnetRouteTableAssociation
        AWS::EC2::VPC AWS::EC2::VPCGatewayAttachment OS::Neutron::AddressScope OS::Neutron::ExtraRoute
        OS::Neutron::ExtraRouteSet OS::Neutron::Firewall OS::Neutron::FirewallPolicy OS::Neutron::FirewallRule
        OS::Neutron::FloatingIP OS::Neutron::FloatingIPAssociation OS::Neutron::FlowClassifier
        OS::Neutron::IKEPolicy OS::Neutron::IPsecPolicy OS::Neutron::IPsecSiteConnection OS::Neutron::L2Gateway
        OS::Neutron::L2GatewayConnection OS::Neutron::MeteringLabel OS::Neutron::MeteringRule OS::Neutron::Net
        OS::Neutron::NetworkGateway OS::Neutron::Port OS::Neutron::PortChain OS::Neutron::PortPair
        OS::Neutron::PortPairGroup OS::Neutron::ProviderNet OS::Neutron::QoSBandwidthLimitRule
        OS::Neutron::QoSDscpMarkingRule OS::Neutron::QoSMinimumBandwidthRule OS::Neutron::QoSMinimumPacketRateRule
        OS::Neutron::QoSPolicy OS::Neutron::Quota OS::Neutron::RBACPolicy OS::Neutron::Router
        OS::Neutron::RouterGateway OS::Neutron::RouterInterface OS::Neutron::SecurityGroup
        OS::Neutron::SecurityGroupRule OS::Neutron::Segment OS::Neutron::Subnet OS::Neutron::SubnetPool
        OS::Neutron::TaaS::TapFlow OS::Neutron::TaaS::TapService OS::Neutron::Trunk OS::Neutron::VPNService
    """,
    ("nova", "compute"): """
        AWS::EC2::EIP AWS::EC2::EIPAssociation AWS::EC2::Instance OS::Nova::Flavor OS::Nova::FloatingIPAssociation
        OS::Nova::HostAggregate OS::Nova::KeyPair OS::Nova::Quota OS::Nova::Server OS::Nova::ServerGroup
    """,
    ("octavia", "load-balancer"): """
        OS::Octavia::AvailabilityZone OS::Octavia::AvailabilityZoneProfile OS::Octavia::Flavor
        OS::Octavia::FlavorProfile OS::Octavia::HealthMonitor OS::Octavia::L7Policy OS::Octavia::L7Rule
        OS::Octavia::Listener OS::Octavia::LoadBalancer OS::Octavia::Pool OS::Octavia::PoolMember OS::Octavia::Quota
    """,
    ("openstack", "network"): """
        OS::Neutron::FloatingIPPortForward
    """,
    ("swift", "object-store"): """
        AWS::S3::Bucket OS::Heat::SwiftSignal OS::Heat::SwiftSignalHandle OS::Swift::Container
    """,
    ("trove", "database"): """
        OS::Trove::Cluster OS::Trove::Instance
    """,
    ("zaqar", "messaging"): """
        OS::Zaqar::MistralTrigger OS::Zaqar::Queue OS::Zaqar::SignedQueueURL OS::Zaqar::Subscription
    """,
    ("zun", "container"): """
        OS::Zun::Container
    """,
}
# Engine types, and names that Heat only keeps for stacks that were made with them.
_NEEDING_NONE = """
    AWS::AutoScaling::AutoScalingGroup AWS::AutoScaling::LaunchConfiguration AWS::AutoScaling::ScalingPolicy
    AWS::CloudFormation::Stack AWS::CloudFormation::WaitCondition AWS::CloudFormation::WaitConditionHandle
    AWS::CloudWatch::Alarm AWS::EC2::InternetGateway AWS::EC2::SecurityGroup AWS::ElasticLoadBalancing::LoadBalancer
    AWS::IAM::AccessKey AWS::IAM::User AWS::RDS::DBInstance OS::Designate::Domain OS::Designate::Record
    OS::Glance::Image OS::Heat::AccessPolicy OS::Heat::AutoScalingGroup OS::Heat::CloudConfig OS::Heat::Delay
    OS::Heat::DeployedServer OS::Heat::HARestarter OS::Heat::InstanceGroup OS::Heat::MultipartMime OS::Heat::None
    OS::Heat::RandomString OS::Heat::ResourceChain OS::Heat::ResourceGroup OS::Heat::ScalingPolicy
    OS::Heat::SoftwareComponent OS::Heat::SoftwareConfig OS::Heat::SoftwareDeployment OS::Heat::SoftwareDeploymentGroup
    OS::Heat::SoftwareDeployments OS::Heat::Stack OS::Heat::StructuredConfig OS::Heat::StructuredDeployment
    OS::Heat::StructuredDeploymentGroup OS::Heat::StructuredDeployments OS::Heat::TestResource
    OS::Heat::UpdateWaitConditionHandle OS::Heat::Value OS::Heat::WaitCondition OS::Heat::WaitConditionHandle
    OS::Magnum::Bay OS::Monasca::AlarmDefinition OS::Monasca::Notification OS::Neutron::HealthMonitor
    OS::Neutron::LBaaS::HealthMonitor OS::Neutron::LBaaS::L7Policy OS::Neutron::LBaaS::L7Rule
    OS::Neutron::LBaaS::Listener OS::Neutron::LBaaS::LoadBalancer OS::Neutron::LBaaS::Pool
    OS::Neutron::LBaaS::PoolMember OS::Neutron::LoadBalancer OS::Neutron::Pool OS::Neutron::PoolMember
    OS::Nova::FloatingIP OS::Sahara::Cluster OS::Sahara::ClusterTemplate OS::Sahara::DataSource
    OS::Sahara::ImageRegistry OS::Sahara::Job OS::Sahara::JobBinary OS::Sahara::NodeGroupTemplate OS::Senlin::Cluster
    OS::Senlin::Node OS::Senlin::Policy OS::Senlin::Profile OS::Senlin::Receiver OS::Vitrage::Template
"""
_ALIASES = {
    "OS::Ceilometer::Alarm": "OS::Aodh::Alarm",
    "OS::Ceilometer::CombinationAlarm": "OS::Aodh::CombinationAlarm",
    "OS::Ceilometer::GnocchiAggregationByMetricsAlarm": "OS::Aodh::GnocchiAggregationByMetricsAlarm",
    "OS::Ceilometer::GnocchiAggregationByResourcesAlarm": "OS::Aodh::GnocchiAggregationByResourcesAlarm",
    "OS::Ceilometer::GnocchiResourcesAlarm": "OS::Aodh::GnocchiResourcesAlarm",
    "OS::Metering::Alarm": "OS::Aodh::Alarm",
}
_OLD_NETWORK, _NETWORK = "OS::Quantum::", "OS::Neutron::"

_BY_NAME: dict[str, Service | None] = {
    **{name: Service(*service) for service, names in _NEEDING.items() for name in names.split()},
    **dict.fromkeys(_NEEDING_NONE.split()),
}
#: By the name of a type: the service that it needs, or None.
TABLE = {**_BY_NAME, **{alias: _BY_NAME[name] for alias, name in _ALIASES.items()}}
SERVICE_TYPES = frozenset(type_ for _, type_ in _NEEDING)


def meaning(name: str) -> str:
    """Return the type that a name stands for in Heat: older names stand for newer ones."""
    if name.startswith(_OLD_NETWORK):
        name = _NETWORK + name.removeprefix(_OLD_NETWORK)
    return _ALIASES.get(name, name)


def problem(name: str, *, here: bool, services: Container[str] | None) -> Unavailable | None:
    """Return why a type of Heat cannot be used, or None; None as well for a name that Heat does not have.

    `here`: Isotherm has the type. `services` are the types of services in the caller's catalog; None: there is no catalog.
    """
    if meaning(name) not in TABLE:
        return None
    service = TABLE[meaning(name)]
    if service is not None and services is not None and service.type not in services:
        if isinstance(services, NoCloud):
            return Unavailable(f"Resource type {name} needs a cloud, and none is chosen.",
                               hint="Name an entry of clouds.yaml with --os-cloud or OS_CLOUD.")
        return _unavailable(name, service, f"{service.name} {service.type} endpoint is not in service catalog.")
    return None if here else _unavailable(name, service, "Heat knows this type, and it is not available in Isotherm.")


def _unavailable(name: str, service: Service | None, reason: str) -> Unavailable:
    message = f"Resource type {name} is not available" if service is None else (
        f"Service {service.name} is not available for resource type {name}")
    return Unavailable(f"HEAT-E99001 {message}, reason: {reason}",
                       hint="`isotherm resource-type list` shows the types that there are.")
