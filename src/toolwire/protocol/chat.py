"""Our own request: what a surface hands to the gateway. No wire names, no bytes of the client's."""
