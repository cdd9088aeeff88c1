"""Serving over HTTP: API keys, who a request is, the routes made from the registry, and the limits around them."""
