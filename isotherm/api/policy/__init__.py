"""API policy: Heat's rules with their defaults (`rules`), evaluated by oslo.policy (`enforcer`)."""
