"""Firebrick's speed beside that of other engines: what scripts/bench-peers is made of."""
