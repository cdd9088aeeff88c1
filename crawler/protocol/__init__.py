"""The Model Context Protocol: one server made from the registry, over stdio and over streamable HTTP."""
