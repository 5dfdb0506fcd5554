"""Engines: what runs a lowered program on arrays.

An engine knows the products of lowering, not how they were made.
"""
