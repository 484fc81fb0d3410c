"""The access of the service to its cloud: with the token of a caller, or with the trust of a stack.

The service's own user is that of the section [trustee] or [keystone_authtoken], as in `trusts`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from oslo_config import cfg

from isotherm import errors
from isotherm.config import Settings
from isotherm.identity import trusts
from isotherm.resources.openstack.port import access
from isotherm.resources.openstack.port.access import CloudAccess, Login, Named, Tls

_PASSWORD = ("password", "v3password")


@dataclass(frozen=True, slots=True)
class ServiceAccess:
    """Builds accesses to the cloud of the service. `own` is that of the service's user, without a scope."""

    own: CloudAccess

    def with_trust(self, trust: str) -> CloudAccess:
        """Return the access of the user who created a trust."""
        return replace(self.own, login=replace(self.own.login, trust=trust))

    def with_token(self, token: str) -> CloudAccess:
        """Return the access of the user of a token, in the project of the token."""
        return replace(self.own, login=Login("token", secret=token))


    def of_stack_domain(self, settings: Settings) -> CloudAccess:
        """Return the access of the administrator of the domain of stack users. Raises UserError without options."""
        domain = Named(settings.stack_user_domain_id, settings.stack_user_domain_name)
        if not (settings.stack_domain_admin and settings.stack_domain_admin_password):
            raise errors.UserError("stack_user_domain is set, and its administrator is not.",
                                   hint="Set stack_domain_admin and stack_domain_admin_password.")
        admin = Named(name=settings.stack_domain_admin, domain_id=domain.id, domain_name=domain.name)
        login = Login("password", admin, settings.stack_domain_admin_password, domain=domain)
        return replace(self.own, login=login)


def of(conf: cfg.ConfigOpts, settings: Settings) -> ServiceAccess:
    """Read the service's user from its section, and region, interface and certificates from Heat's options."""
    section = trusts.service_section(conf)
    given = conf[section]
    if given.auth_type not in _PASSWORD:
        raise errors.UserError(f"[{section}] auth_type = {given.auth_type}: a trust is used with a password.",
                               hint="Set auth_type = password, username and password.")
    user = Named(given.user_id or "", given.username or "", given.user_domain_id or "", given.user_domain_name or "")
    tls = Tls(not settings.insecure, settings.ca_file, settings.cert_file, settings.key_file)
    return ServiceAccess(CloudAccess(
        access.keystone_url(given.auth_url), Login("password", user, given.password or ""),
        settings.region_name_for_services, access.interface_of(settings.endpoint_type), tls))
