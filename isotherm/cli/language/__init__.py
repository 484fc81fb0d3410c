"""Commands about the template language: validate, function, resource-type, template-version."""
