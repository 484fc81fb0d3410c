"""Who may do what: Heat's rule names with their defaults (`rules`), evaluated by oslo.policy (`enforcer`)."""
