"""Composite functions: plain Python over ops."""
