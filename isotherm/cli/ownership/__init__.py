"""Commands about the objects that a stack owns: taken in, protected, and left in place."""
