"""Group types of Heat: ResourceGroup, ResourceChain, AutoScalingGroup and its ScalingPolicy."""
