"""What the kit raises: a thing that breaks its own rules, or a stream that breaks the protocol."""


class InvalidEntity(ValueError):
    """A test case, call or delta breaks a rule of its own; the message says which."""


class StreamBroken(ValueError):
    """A stream of deltas breaks the protocol; the message says where and how."""


class InvalidCases(ValueError):
    """A file of cases cannot be used; the message says which, where and why."""


class AdapterError(ValueError):
    """An adapter cannot be loaded or used; the message says what to do."""
