"""The exceptions of the conformance kit."""


class InvalidEntity(ValueError):
    """A test case, call or delta is invalid; the message says why."""


class InvalidStream(ValueError):
    """A stream of deltas violates the protocol; the message says where and how."""


class InvalidCases(ValueError):
    """A file of cases cannot be used; the message says which, where and why."""


class AdapterError(ValueError):
    """An adapter cannot be loaded or used; the message says what to do."""
