"""The types of floating ips: those of Neutron, and those that Nova had."""
