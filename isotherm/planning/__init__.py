"""From a request to the desired state of a stack, and to the plan of its traversal.

Used by the engine and the observer. It reads the store and the template language, and starts no operation.
"""
